"""Buffers that a method sets to other tensors: ``self.h = self.h + x``.

PyTorch's trace sees such buffers of the root module alone, and returns the new value where a method
returns the old one. Here a buffer's name stands for the new tensor until the method ends, as in
eager mode; then the buffer gets the new values.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
import torch.export._trace
from torch import Tensor
from torch._functorch._aot_autograd import graph_capture
from torch.utils import _pytree as pytree

# A tensor, and the one whose values it is to get.
Write = tuple[Tensor, Tensor]


def with_written_buffers(
    model: torch.nn.Module, function: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that puts each buffer back in its place, and copies the new values into it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = [
            (module, dict(module._buffers))
            for module in model.modules()
            if isinstance(module._buffers, dict)  # not compiled by TorchScript
        ]
        try:
            results = function(*args, **kwargs)
            writes = [
                (old, new)
                for module, buffers in before
                for name, old in buffers.items()
                for new in (module._buffers.get(name),)
                if old is not None and new is not None and new is not old
            ]
        finally:
            for module, buffers in before:
                module._buffers.update(buffers)
        return written(writes, results)

    return call


def written(writes: Sequence[Write], results: Any) -> Any:
    """Copy values into tensors, and return the results, first copied if they share this memory."""
    shares_memory: Any = getattr(torch._C, "_is_alias_of")  # noqa: B009

    def kept(value: Tensor) -> Tensor:
        return value.clone() if any(shares_memory(value, old) for old, _ in writes) else value

    results = pytree.tree_map_only(Tensor, kept, results)
    values = [kept(new) for _, new in writes]
    for (old, _), value in zip(writes, values, strict=True):
        old.copy_(value)
    return results


@contextlib.contextmanager
def unseen_assignments() -> Iterator[None]:
    """Stops PyTorch's trace from writing such buffers itself, within the block."""
    name = "register_buffer_assignment_hook"
    with contextlib.ExitStack() as stack:
        for module in (torch.export._trace, graph_capture):
            stack.enter_context(mock.patch.object(module, name, lambda *_: mock.Mock()))
        yield


@contextlib.contextmanager
def without_empty_buffers(model: torch.nn.Module) -> Iterator[None]:
    """Makes plain attributes of buffers that are None, within the block.

    PyTorch's trace counts them among the tensors.
    """
    empty = [
        (module, name)
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is None
    ]
    orders = [(module, list(module._buffers)) for module, _ in empty]
    for module, name in empty:
        del module._buffers[name]
        vars(module)[name] = None
    try:
        yield
    finally:
        for module, name in empty:
            vars(module).pop(name, None)
            module._buffers[name] = None
        for module, order in orders:
            for name in order:
                module._buffers[name] = module._buffers.pop(name)
