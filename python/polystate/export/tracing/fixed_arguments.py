"""Arguments of types that torch.export does not take, such as a ``torch.dtype`` or an ``Enum``.

They are constants of the exported method, as numbers and texts are. For a trace a name stands in
the place of each, and of texts that are no names, which torch.export reads as code.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.export.method import Draw, Method, resolve

_TRACED = (bool, int, float, type(None))


def with_fixed_arguments(model: torch.nn.Module, name: str, method: Method) -> Method:
    """A method whose examples have names for such values; its target is called with the values."""
    leaves, structure = pytree.tree_flatten((tuple(method.args), dict(method.kwargs)))
    values = {i: leaf for i, leaf in enumerate(leaves) if not _is_traced(leaf)}
    if not values:
        return method
    args, kwargs = _with(leaves, structure, _names(values))
    return dataclasses.replace(
        method,
        target=_called_with(resolve(model, name, method), values),
        args=args,
        kwargs=kwargs,
        draw=None if method.draw is None else _drawn_with(method.draw, values),
    )


def _is_traced(leaf: Any) -> bool:
    """Whether torch.export takes a value; of subclasses such as ``IntEnum`` it does not."""
    is_name = type(leaf) is str and (leaf.isidentifier() or not leaf)
    return isinstance(leaf, torch.Tensor) or type(leaf) in _TRACED or is_name


def _names(values: Mapping[int, Any]) -> dict[int, str]:
    return {place: _name(value) for place, value in values.items()}


def _name(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    if " at 0x" in text:
        text = str(getattr(value, "__qualname__", type(value).__qualname__))
    return "_" + re.sub(r"\W+", "_", text).strip("_")[:_LONGEST_NAME]


_LONGEST_NAME = 40


def _with(leaves: list[Any], structure: pytree.TreeSpec, others: Mapping[int, Any]) -> Any:
    return pytree.tree_unflatten([others.get(i, leaf) for i, leaf in enumerate(leaves)], structure)


def _called_with(function: Callable[..., Any], values: Mapping[int, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _with(*pytree.tree_flatten((args, kwargs)), values)
        return function(*args, **kwargs)

    return call


def _drawn_with(draw: Draw, values: Mapping[int, Any]) -> Draw:
    def drawn(generator: torch.Generator, args: Any, kwargs: Any) -> Any:
        made = draw(generator, *_with(*pytree.tree_flatten((args, kwargs)), values))
        return _with(*pytree.tree_flatten(made), _names(values))

    return drawn
