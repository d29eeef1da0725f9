"""Which operators are decomposed, and by what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table

from polystate.export.tracing.decompositions import (
    batch_norms,
    elementwise,
    layout,
    losses,
    matrices,
    networks,
    places,
    reductions,
    searches,
)

aten = torch.ops.aten


def _of_doubles(decompose: Callable[..., Any]) -> Callable[..., Any]:
    """Decompose float64 alone: the operator's kernels compute it as float32."""

    def decomposed(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return decompose(x, *args, **kwargs) if x.dtype == torch.float64 else NotImplemented

    return decomposed


# Operators that are decomposed for one type alone; for others they are left to what comes after.
OF_ONE_TYPE: dict[Any, Callable[..., Any]] = {
    aten.scaled_dot_product_attention.default: _of_doubles(networks.attention),
    **{
        operator: _of_doubles(decomposition_table[operator])
        for operator in (
            aten.addcdiv.default,
            aten.addcmul.default,
            aten.baddbmm.default,
            aten.celu.default,
            aten.deg2rad.default,
            aten.mvlgamma.default,
            aten.native_group_norm.default,
            aten.native_layer_norm.default,
            aten.rad2deg.default,
            aten.renorm.default,
            aten.softplus.default,
        )
    },
    **{
        operator: reductions.truth_of_bytes(operator)
        for operator in (
            aten.all.default,
            aten.all.dim,
            aten.all.dims,
            aten.any.default,
            aten.any.dim,
            aten.any.dims,
        )
    },
}

DECOMPOSED: dict[Any, Callable[..., Any]] = {
    **batch_norms.OPERATORS,
    **elementwise.OPERATORS,
    **layout.OPERATORS,
    **losses.OPERATORS,
    **matrices.OPERATORS,
    **networks.OPERATORS,
    **places.OPERATORS,
    **reductions.OPERATORS,
    **searches.OPERATORS,
    **OF_ONE_TYPE,
}
