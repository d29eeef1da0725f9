"""Functions that reshape tensors of varying sizes, or read them row by row, on copies of these.

PyTorch asks whether a tensor lies row by row, so that it needs no copy. The answer may depend on
sizes: part of an image lies so only if it is as wide as the image. A trace would then hold for the
sizes of its example alone.
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
    """Call it on a copy. NotImplemented if no size varies, or all sizes let the input lie so."""

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
