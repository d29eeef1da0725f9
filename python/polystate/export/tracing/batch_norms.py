"""Batch norms that average over all batches (``momentum=None``), by a count that is state.

PyTorch makes a number of Python of the count, which a trace does not have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm


@contextlib.contextmanager
def traced_cumulative_averages() -> Iterator[None]:
    """Keeps the count a tensor within the block."""
    original = _BatchNorm.forward

    def forward(norm: _BatchNorm, input: Tensor) -> Tensor:
        is_cumulative = norm.momentum is None and norm.training and norm.track_running_stats
        if is_cumulative and norm.num_batches_tracked is not None:
            return _averaged(norm, input)
        return original(norm, input)

    with mock.patch.object(_BatchNorm, "forward", forward):
        yield


def _averaged(norm: _BatchNorm, x: Tensor) -> Tensor:
    assert norm.num_batches_tracked is not None
    norm._check_input_dim(x)  # type: ignore[no-untyped-call]
    norm.num_batches_tracked.add_(1)
    over = [dim for dim in range(x.dim()) if dim != 1]
    found = (norm.running_mean, x.mean(over)), (norm.running_var, x.var(over))
    for average, new in found:
        if average is not None:
            part = norm.num_batches_tracked.to(average.dtype).reciprocal()
            average.copy_(part * new + (1 - part) * average)
    return torch.nn.functional.batch_norm(
        x, None, None, norm.weight, norm.bias, training=True, eps=norm.eps
    )
