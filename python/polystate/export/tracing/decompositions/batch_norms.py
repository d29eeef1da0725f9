"""Batch norms, whose new averages are results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten


def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Returns the result, the mean and the inverse deviation of a batch, and the new averages."""
    over = [dim for dim in range(x.dim()) if dim != 1]
    mean, var, wide = running_mean, running_var, in_single(x)
    if training:
        mean, var = wide.mean(over), wide.var(over, correction=0)
        unbiased = wide.var(over, correction=1)
        running_mean, running_var = (
            (momentum * new + (1 - momentum) * old).to(old.dtype)
            for old, new in ((running_mean, mean), (running_var, unbiased))
        )
    inverse = torch.rsqrt(in_single(var) + eps)
    scale = inverse if weight is None else inverse * weight
    per_channel = [1, -1, *[1] * (x.dim() - 2)]
    result = (wide - mean.view(per_channel)) * scale.view(per_channel)
    if bias is not None:
        result = result + bias.view(per_channel)
    kept = x.dtype if weight is None else weight.dtype
    mean, inverse = (
        each.to(kept) if training else torch.zeros(0, dtype=kept) for each in (mean, inverse)
    )
    return result.to(x.dtype), mean, inverse, running_mean, running_var


def _batch_norm_with_update(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """A batch norm in training; its fourth result is what some devices keep for gradients."""
    averages = (running_mean, running_var)
    *found, mean, var = _batch_norm(x, weight, bias, *averages, True, momentum, eps)
    return (*found, torch.zeros(0, dtype=torch.uint8), mean, var)


def _batch_norm_without_averages(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """A batch norm by the batch's own mean and variance, whether in training or not."""
    none = torch.zeros(1)
    return _batch_norm(x, weight, bias, none, none, True, momentum, eps)[:3]


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._batch_norm_with_update_functional.default: _batch_norm_with_update,
    aten._native_batch_norm_legit.no_stats: _batch_norm_without_averages,
    aten._native_batch_norm_legit_functional.default: _batch_norm,
}
