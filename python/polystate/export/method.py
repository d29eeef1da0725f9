"""What a user says about one entry point."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.errors import ExportError


@dataclass(frozen=True)
class Method:
    """One entry point of a module, with the examples that it is traced with.

    Parameters
    ----------
    target
        The name of a method of the module, or a callable over the same module (a bound method of a submodule, a closure).
    args, kwargs
        Example arguments, as for ``torch.export.export``. Tensors may be nested in tuples, lists and dictionaries. Every
        value that is not a tensor is a constant of the exported method.
    dynamic_shapes
        Which dimensions vary and how far, in ``torch.export``'s form; None: all are static.
    """

    target: str | Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None

    def examples(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with every tensor copied, so that no two examples share memory."""
        return pytree.tree_map_only(
            torch.Tensor, _contiguous_copy, (tuple(self.args), dict(self.kwargs))
        )


def _contiguous_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def resolve(model: torch.nn.Module, name: str, method: Method) -> Callable[..., Any]:
    """The callable that a method names; ExportError when the module has none such."""
    if callable(method.target):
        return method.target
    function = getattr(model, method.target, None)
    if not callable(function):
        raise ExportError(
            f"method '{name}': {type(model).__name__} has no method '{method.target}'"
        )
    return function


@contextlib.contextmanager
def as_forward(model: torch.nn.Module, function: Callable[..., Any]) -> Iterator[torch.nn.Module]:
    """The module with `function` in the place of its ``forward``; the names of its tensors do not change."""
    had_own = "forward" in model.__dict__
    previous = model.__dict__.get("forward")
    model.forward = function
    try:
        yield model
    finally:
        del model.forward
        if had_own:
            model.forward = previous
