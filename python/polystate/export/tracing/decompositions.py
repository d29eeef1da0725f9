"""Operators without kernels, written by others before anything else reads the graph.

Each computes what PyTorch's operator of its name does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    places = torch.arange(source.shape[-1], device=x.device)
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    moved = x.movedim((dim1, dim2), (0, 1))
    changed = torch.index_put(moved, (rows, columns), source.movedim(-1, 0))
    return changed.movedim((0, 1), (dim1, dim2)).contiguous()


def _narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    return x.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)


def _round(x: Tensor, *, decimals: int) -> Tensor:
    power = 10.0 ** abs(decimals)
    return torch.round(x * power) / power if decimals >= 0 else torch.round(x / power) * power


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
    """Returns the result, the mean and the inverse deviation that it used, and the new averages."""
    over = [dim for dim in range(x.dim()) if dim != 1]
    mean, var = running_mean, running_var
    if training:
        mean, var = x.mean(over), x.var(over, correction=0)
        running_mean = running_mean + momentum * (mean - running_mean)
        running_var = running_var + momentum * (x.var(over, correction=1) - running_var)
    inverse = torch.rsqrt(var + eps)
    scale = inverse if weight is None else inverse * weight
    per_channel = [1, -1, *[1] * (x.dim() - 2)]
    result = (x - mean.view(per_channel)) * scale.view(per_channel)
    if bias is not None:
        result = result + bias.view(per_channel)
    return result, mean, inverse, running_mean, running_var


def _batch_norm_of_itself(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """As above, where nothing keeps averages."""
    none = torch.zeros(1)
    return _batch_norm(x, weight, bias, none, none, True, momentum, eps)[:3]


def _rrelu(
    x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, _: Any = None
) -> Any:
    """Of which only training draws."""
    return NotImplemented if training else aten.leaky_relu(x, (lower + upper) / 2)


DECOMPOSED: dict[Any, Callable[..., Any]] = {
    aten._is_all_true.default: torch.all,  # of torch._check_tensor_all
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten._native_batch_norm_legit.no_stats: _batch_norm_of_itself,
    aten._native_batch_norm_legit_functional.default: _batch_norm,
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.narrow_copy.default: _narrow_copy,
    aten.round.decimals: _round,
    aten.rrelu.default: _rrelu,
}
