"""Reductions of all elements, or of those of some dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table

from polystate.export.graph.sizes import may_be_zero
from polystate.export.tracing.decompositions.composites import composed

aten = torch.ops.aten


def truth_of_bytes(operator: Any) -> Callable[..., Any]:
    """Return ``all`` or ``any`` with a result of uint8 for uint8, which AOTInductor does not give.

    Other types are left to the engines.
    """

    def is_true(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dtype != torch.uint8:
            return NotImplemented
        return operator(x.to(torch.bool), *args, **kwargs).to(torch.uint8)

    return is_true


def _max(x: Tensor) -> Tensor:
    return x.reshape(-1).amax(0)


def _min(x: Tensor) -> Tensor:
    return x.reshape(-1).amin(0)


def _mean(x: Tensor, *, dtype: torch.dtype | None = None) -> Any:
    """The mean over all dimensions: ExecuTorch's own kernel adds up one element after the other."""
    return aten.mean.dim(x, list(range(x.dim())), dtype=dtype)


def _logsumexp(x: Tensor, dims: Sequence[int], keepdim: bool = False) -> Any:
    """Adds the logarithm of 0 to dimensions that may be empty, so that they have a maximum."""
    chosen = {dim % x.dim() for dim in dims} or set(range(x.dim())) if x.dim() else set()
    if x.is_floating_point() and any(may_be_zero(x.shape[dim]) for dim in chosen):
        for dim in chosen:
            nothing = x.new_full([1 if at == dim else n for at, n in enumerate(x.shape)], -math.inf)
            x = torch.cat([x, nothing], dim)
    return decomposition_table[aten.logsumexp.default](x, list(dims), keepdim)


def _var_mean(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    """Computes the two apart: where ExecuTorch's variance is NaN, it makes the mean NaN as well."""
    dims = dim if dim else list(range(x.dim()))
    mean = aten.mean.dim(x, dims, keepdim)
    return aten.var.correction(x, dim, correction=correction, keepdim=keepdim), mean


def _std_mean(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    var, mean = _var_mean(*args, **kwargs)
    return var.sqrt(), mean


def _quantile(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """Gather elements by shares from 0 to 1 of a tensor, which PyTorch asks for in eager mode."""

    def quantile(x: Tensor, q: Tensor, *args: Any, **kwargs: Any) -> Any:
        is_share = (q >= 0) & (q <= 1)
        aten._assert_async.msg(is_share.all(), "quantile: q values must be in the range [0, 1]")
        # A check of the program may come after what it asserts.
        shares = torch.where(is_share, q, torch.zeros_like(q))
        return composed(operator)(x, shares, *args, **kwargs)

    return quantile


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._is_all_true.default: torch.all,  # of torch._check_tensor_all
    aten.dist.default: decomposition_table[aten.dist.default],
    aten.logsumexp.default: _logsumexp,
    aten.max.default: _max,
    aten.mean.default: _mean,
    aten.min.default: _min,
    aten.nanquantile.default: _quantile(aten.nanquantile.default),
    aten.quantile.default: _quantile(aten.quantile.default),
    aten.std_mean.correction: _std_mean,
    aten.var_mean.correction: _var_mean,
}
