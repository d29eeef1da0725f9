"""Complex inputs, results and registered tensors, as pairs of real numbers.

Programs have real tensors alone. A method with complex arguments becomes one that takes pairs
[..., 2], and gives such for its complex results; the module itself computes with complex tensors.
Under a trace, complex buffers and parameters are pairs as well, which the module's code meets as
their parts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.errors import UnsupportedError
from polystate.export.method import Draw, Method, resolve
from polystate.export.tracing.complex_parts import Complex
from polystate.export.tracing.dimensions import combined_arguments, map_dimensions
from polystate.export.tracing.pairs import as_pairs
from polystate.export.tracing.rebound_buffers import written


@dataclass(frozen=True)
class ComplexPlaces:
    """Which of a method's flattened arguments and results are complex.

    Those of the results are known once the method was called.
    """

    arguments: frozenset[int] = frozenset()
    results: set[int] = field(default_factory=set)


def over_pairs(model: torch.nn.Module, name: str, method: Method) -> tuple[Method, ComplexPlaces]:
    """A method that takes and gives pairs for complex tensors, and which tensors are complex.

    Raises
    ------
    UnsupportedError
        For complex numbers of half precision.
    """
    leaves, structure = pytree.tree_flatten((tuple(method.args), dict(method.kwargs)))
    places = ComplexPlaces(frozenset(i for i, leaf in enumerate(leaves) if _is_complex(leaf)))
    for place in places.arguments:
        _refuse_half(leaves[place], f"method '{name}': an example")
        leaves[place] = as_pairs(leaves[place].detach())
    args, kwargs = pytree.tree_unflatten(leaves, structure)
    function = resolve(model, name, method)
    changed = dataclasses.replace(
        method,
        target=_called_with_pairs(name, function, places),
        args=args,
        kwargs=kwargs,
        dynamic_shapes=_shapes_of_pairs(function, method),
        draw=None if method.draw is None else _drawn_as_pairs(method.draw, places),
    )
    return changed, places


def _called_with_pairs(
    name: str, function: Callable[..., Any], places: ComplexPlaces
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _with_complex((args, kwargs), places)
        results, structure = pytree.tree_flatten(function(*args, **kwargs))
        for place, result in enumerate(results):
            if _is_complex(result):
                _refuse_half(result, f"method '{name}': a result")
                places.results.add(place)
                results[place] = _pairs_of(result)
        return pytree.tree_unflatten(results, structure)

    return call


def _with_complex(arguments: Any, places: ComplexPlaces) -> Any:
    leaves, structure = pytree.tree_flatten(arguments)
    for place in places.arguments:
        # Under a trace these are parts, which a mode makes of pairs.
        leaves[place] = torch.view_as_complex(leaves[place])
    return pytree.tree_unflatten(leaves, structure)


def _pairs_of(value: Any) -> torch.Tensor:
    return value.view_as_real() if isinstance(value, Complex) else as_pairs(value)


def _is_complex(value: Any) -> bool:
    return isinstance(value, Complex) or (isinstance(value, torch.Tensor) and value.is_complex())


def _refuse_half(value: Any, what: str) -> None:
    if value.dtype == torch.complex32:
        raise UnsupportedError(
            f"{what} is complex32, of which PyTorch itself computes little on a CPU; "
            f"rewrite: use x.to(torch.complex64)"
        )


def _shapes_of_pairs(function: Callable[..., Any], method: Method) -> Any:
    """Dynamic shapes for pairs: those of complex tensors get a last dimension, which is fixed."""
    given = method.dynamic_shapes
    if given is None:
        return None

    def with_last(tensor: torch.Tensor, spec: Any) -> Any:
        is_sequence = isinstance(spec, tuple | list) and _is_complex(tensor)
        return (*spec, None) if is_sequence else spec

    try:
        combined = combined_arguments(function, tuple(method.args), dict(method.kwargs), given)
        return map_dimensions(with_last, combined, given)
    except Exception:  # the shapes do not fit, which Dimensions.of tells the user
        return given


def _drawn_as_pairs(draw: Draw, places: ComplexPlaces) -> Draw:
    def drawn(generator: torch.Generator, args: Any, kwargs: Any) -> Any:
        made = draw(generator, *_with_complex((args, kwargs), places))
        return pytree.tree_map_only(torch.Tensor, as_pairs, made)

    return drawn


@dataclass(frozen=True)
class _Registered:
    """A complex tensor that a module has registered."""

    registry: dict[str, Any]
    name: str


@contextlib.contextmanager
def registered_as_pairs(
    model: torch.nn.Module, function: Callable[..., Any]
) -> Iterator[Callable[..., Any]]:
    """Makes pairs of complex buffers and parameters within the block.

    Gives a function that does what `function` does with the module as it was: while it runs, the
    module has these tensors as complex ones, by their parts. What it changes in them changes the
    pairs.
    """
    found = list(_complex_tensors(model))
    before = [each.registry[each.name] for each in found]
    pairs: dict[int, torch.Tensor] = {}  # a tensor of two names stays one
    for each, tensor in zip(found, before, strict=True):
        each.registry[each.name] = pairs.setdefault(id(tensor), _registered_pairs(tensor))
    try:
        yield _seen_as_complex(found, function) if found else function
    finally:
        for each, tensor in zip(found, before, strict=True):
            each.registry[each.name] = tensor


def _copy_of(value: Complex) -> Complex:
    return Complex(value.real.clone(), value.imag.clone())


def _complex_tensors(model: torch.nn.Module) -> Iterator[_Registered]:
    for owner in model.modules():
        for registry in (owner._parameters, owner._buffers):
            for name, tensor in registry.items():
                if tensor is not None and tensor.is_complex():
                    yield _Registered(registry, name)


def _registered_pairs(tensor: torch.Tensor) -> torch.Tensor:
    pairs = as_pairs(tensor.detach())
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(pairs, requires_grad=tensor.requires_grad)
    return pairs


def _seen_as_complex(
    registered: list[_Registered], function: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        pairs = [each.registry[each.name] for each in registered]
        seen: dict[int, Complex] = {}
        for each, tensor in zip(registered, pairs, strict=True):
            # In the registry, where code that lists parameters and buffers finds or replaces it.
            each.registry[each.name] = seen.setdefault(id(tensor), Complex.over(tensor))
        try:
            results = function(*args, **kwargs)
            values = [each.registry[each.name] for each in registered]
            writes = [
                (tensor, Complex.of(value).view_as_real())
                for tensor, value in zip(pairs, values, strict=True)
                if value is not seen[id(tensor)]
            ]
            if writes:
                results = pytree.tree_map_only(Complex, _copy_of, results)
            return written(writes, results)
        finally:
            for each, tensor in zip(registered, pairs, strict=True):
                each.registry[each.name] = tensor

    return call
