"""Reshapes of tensors whose sizes vary, and what reads them row by row, as copies.

PyTorch looks whether a reshaped tensor can be a view, and whether one lies row by row already,
which may be so at some sizes alone: where a window is as large as an image, for instance. A trace
then holds for the sizes of its example.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from polystate.export.graph.sizes import lies_row_by_row


def _copied(operator: Callable[..., Any]) -> Callable[..., Any]:
    """NotImplemented where the elements lie in their order at all sizes, or no size varies."""

    def reshaped(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        sizes = itertools.chain(input.shape, input.stride())
        if lies_row_by_row(input) or not any(isinstance(n, torch.SymInt) for n in sizes):
            return NotImplemented
        return operator(input.clone(memory_format=torch.contiguous_format), *args, **kwargs)

    return reshaped


COPIES: dict[Any, Callable[..., Any]] = {
    operator: _copied(operator)
    for operator in (
        functional.conv1d,
        functional.conv2d,
        functional.conv3d,
        functional.linear,
        torch.flatten,
        torch.reshape,
        Tensor.contiguous,
        Tensor.flatten,
        Tensor.reshape,
    )
}
