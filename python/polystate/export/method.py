"""What a user says about one entry point."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any, cast

import torch
from torch.utils import _pytree as pytree

from polystate.errors import ContractError, ExportError
from polystate.export import hooks
from polystate.export.hooks import BareCall

Draw = Callable[[torch.Generator, tuple[Any, ...], dict[str, Any]], Any]


@dataclass(frozen=True)
class Method:
    """One entry point of a module, with the examples that it is traced with.

    Parameters
    ----------
    target
        The name of a method of the module, or a callable over the same module (a bound method of a
        submodule, a closure). ``"forward"`` is ``model(...)`` with its hooks; any other name is the
        bare method.
    args, kwargs
        Example arguments, as for ``torch.export.export``. Tensors may be nested in tuples, named
        ones too, lists, dictionaries, dataclasses (``torch.export.register_dataclass``) and other
        nodes of pytrees. Every value that is not a tensor is a constant of the exported method, of
        whatever type.
    dynamic_shapes
        Which dimensions vary and how far, in ``torch.export``'s form; None: all are static.
    draw
        Makes valid arguments of drawn ones, for inputs with a structure that drawn values do not
        have (page tables, covariances): ``draw(generator, args, kwargs)`` gets a
        ``torch.Generator`` and arguments of some sizes within the ranges, and returns
        ``(args, kwargs)`` of the same sizes and types. An export calls the program with them.
    """

    target: str | Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None
    draw: Draw | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.target, str) or callable(self.target)):
            raise ContractError(
                f"the target of a Method is a {type(self.target).__name__}; it may be the name of "
                f"a method or a callable"
            )
        if not isinstance(self.args, Sequence) or isinstance(self.args, str):
            raise ContractError(
                f"args of a Method is a {type(self.args).__name__}; it must be a sequence of the "
                f"arguments: args=(x,)"
            )
        if not isinstance(self.kwargs, Mapping):
            raise ContractError(
                f"kwargs of a Method is a {type(self.kwargs).__name__}; it must be a mapping of "
                f"the arguments by their names: kwargs={{'x': x}}"
            )
        if self.draw is not None and not callable(self.draw):
            raise ContractError(
                f"draw of a Method is a {type(self.draw).__name__}; it must be a function: "
                f"draw(generator, args, kwargs)"
            )

    def examples(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with every tensor copied, so that no two examples share memory."""
        examples: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_map_only(
            torch.Tensor, _contiguous_copy, (tuple(self.args), dict(self.kwargs))
        )
        return examples


def _contiguous_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def resolve(model: torch.nn.Module, name: str, method: Method) -> Callable[..., Any]:
    """The callable that a method names; ExportError when the module has none such.

    ``"forward"`` means ``model(...)``, as a module in the place of a function does: with its hooks.
    Any other name is the bare method. Numbers among its results are tensors of no dimension.
    """
    function: Any = method.target
    if function == "forward":
        function = model
    elif isinstance(function, str):
        function = getattr(model, function, None)
    if isinstance(function, torch.nn.Module):
        function = _call_of(function)
    if not callable(function):
        raise ExportError(
            f"method '{name}': {type(model).__name__} has no method {method.target!r}"
        )
    call = _with_tensors(cast("Callable[..., Any]", function))
    _name_keywords(call, method.kwargs)
    return call


_NUMBERS = (bool, int, float, torch.SymBool, torch.SymInt, torch.SymFloat)


def _with_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function like another one that returns tensors where that returns numbers."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return pytree.tree_map_only(_NUMBERS, _as_tensor, function(*args, **kwargs))

    return call


def _name_keywords(call: Callable[..., Any], names: Iterable[str]) -> None:
    """Declares what ``**kwargs`` takes, since torch.export wants a name for each dynamic shape."""
    try:
        declared = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # a function without a signature
        return
    kept = [parameter for parameter in declared if parameter.kind != Parameter.VAR_KEYWORD]
    if len(kept) < len(declared):
        bound = {parameter.name for parameter in kept if parameter.kind != Parameter.VAR_POSITIONAL}
        with contextlib.suppress(ValueError):  # names that are none, or that `*args` has
            named = [Parameter(n, Parameter.KEYWORD_ONLY) for n in names if n not in bound]
            cast("Any", call).__signature__ = inspect.Signature([*kept, *named])


def _as_tensor(number: Any) -> torch.Tensor:
    dtype = torch.float64  # a number of Python's has as many digits
    if isinstance(number, bool | torch.SymBool):
        dtype = torch.bool
    elif isinstance(number, int | torch.SymInt):
        dtype = torch.int64
    return torch.scalar_tensor(number, dtype=dtype)


def _call_of(module: torch.nn.Module) -> Callable[..., Any]:
    """A function that calls a module; a module itself would be registered as a submodule."""

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    return call


@contextlib.contextmanager
def as_forward(model: torch.nn.Module, function: Callable[..., Any]) -> Iterator[torch.nn.Module]:
    """The module as one whose call is `function` and nothing else; its tensors keep their names.

    While `function` runs, the module is itself again, so that it may be called.
    """
    bare = BareCall(model)
    own = {name: value for name, value in model.__dict__.items() if name == "forward"}

    @functools.wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        become_itself()
        try:
            with hooks.as_set():
                return function(*args, **kwargs)
        finally:
            become_function()

    def become_function() -> None:
        _set_forward(model, {"forward": entered})
        bare.begin()

    def become_itself() -> None:
        bare.end()
        _set_forward(model, own)

    become_function()
    try:
        yield model
    finally:
        become_itself()


def _set_forward(model: torch.nn.Module, value: Mapping[str, Any]) -> None:
    """Gives the instance a ``forward`` of its own, or none."""
    model.__dict__.pop("forward", None)
    model.__dict__.update(value)
