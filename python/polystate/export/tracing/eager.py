"""Runs methods of the user's module eagerly, and leaves the module as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from polystate.export.tracing import attributes


@dataclass(frozen=True)
class Outcome:
    """What one call did: what it returned, and its inputs and every buffer afterwards."""

    outputs: list[Any]
    inputs: list[Any]
    buffers: dict[str, torch.Tensor]


class EagerModule:
    """The user's module, with the values that it had when it was given to us.

    Every call starts from these values, and they are put back when it ends. Parameters are not
    copied, but for the one call that finds out whether a method changes them (hidden_state).
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self._values = self.buffers()

    def initial(self, name: str) -> torch.Tensor:
        """The value that a buffer starts with, by its fully qualified name."""
        return self._values[name]

    def initials(self) -> dict[str, torch.Tensor]:
        """The values that all buffers start with, each under every one of its names."""
        return dict(self._values)

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """Calls `function` from the initial values; whatever it raises passes through."""
        with self.restored():
            return self.call(function, args, kwargs)

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """Calls `function` from the values that the buffers have now; what it changes stays."""
        args, kwargs = copied(args, kwargs)
        with torch.no_grad():
            torch.manual_seed(0)
            outputs = function(*args, **kwargs)
        return Outcome(copied_leaves(outputs), copied_leaves((args, kwargs)), self.buffers())

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Puts every buffer, every attribute and the random state back when the block ends."""
        put_back = attributes.keep(self.model)
        try:
            with torch.random.fork_rng(devices=[]):
                yield
        finally:
            put_back()
            self.reset()

    def buffers(self) -> dict[str, torch.Tensor]:
        """Copies of all buffers as they are now."""
        return {
            name: buffer.detach().clone()
            for name, buffer in self.model.named_buffers(remove_duplicate=False)
        }

    def set_buffers(self, values: Mapping[str, torch.Tensor]) -> None:
        """Gives every buffer one of these values, by its name."""
        with torch.no_grad():
            for name, buffer in self.model.named_buffers(remove_duplicate=False):
                if not same_values(buffer, values[name]):
                    buffer.copy_(values[name])

    def reset(self) -> None:
        """Gives every buffer its initial value."""
        self.set_buffers(self._values)


def copied(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments with every tensor copied."""
    both: tuple[Any, Any] = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    return both


def copied_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, tensors copied."""
    return pytree.tree_leaves(
        pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), tree)
    )


def same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one shape and kind hold the same; NaN counts as equal to itself."""
    if is_traceable_wrapper_subclass(a):  # such as a quantized weight, made of several tensors
        parts, _ = a.__tensor_flatten__()
        return all(same_values(getattr(a, part), getattr(b, part)) for part in parts)
    return torch.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all())
