"""Layers of neural networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table

from polystate.export.tracing.decompositions.composites import composed
from polystate.export.tracing.decompositions.layout import split_with_sizes
from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Adds up the rows of each bag, or takes their mean.

    Where a last offset ends the last bag, elements may lie behind it. Some of PyTorch's kernels add
    them to that bag: those for doubles and for padding; the others only count them for the mean.
    Offsets that decrease are refused, of which kernels raise or make what they find in memory.

    Returns that alone: only gradients need the others, which lack elements here.
    """
    if mode == 2:  # the largest elements
        return NotImplemented
    indices, offsets = indices.long(), offsets.long()
    first_is_0 = (offsets[:1] == 0).all()
    aten._assert_async.msg(first_is_0, "embedding_bag: the first offset is not 0")
    goes_up = (offsets.diff() >= 0).all()
    aten._assert_async.msg(goes_up, "embedding_bag: an offset is less than the one before")
    count, bags = indices.shape[0], offsets.shape[0] - int(include_last_offset)
    leaves_out = include_last_offset and padding_idx < 0 and weight.dtype != torch.float64
    begun = torch.zeros(count + 1, dtype=torch.int64)
    begun = torch.scatter_add(begun, 0, offsets, torch.ones_like(offsets))
    bag = (begun.cumsum(0) - 1)[:count]
    larger: Any = torch.sym_max
    made = larger(bags, 1) if include_last_offset else bags
    of_bag = bag.clamp(max=made - 1) if include_last_offset else bag
    rows = in_single(aten.embedding.default(weight, indices))  # rounded once
    if per_sample_weights is not None:
        rows = rows * in_single(per_sample_weights).unsqueeze(1)
    counts = indices != padding_idx
    is_added = counts & (bag < bags) if leaves_out else counts
    places = of_bag.unsqueeze(1).expand(rows.shape)
    rows = torch.where(is_added.unsqueeze(1), rows, 0.0)
    zeros = torch.zeros((made, rows.shape[1]), dtype=rows.dtype)
    result = torch.scatter_add(zeros, 0, places, rows)
    if mode == 1:
        none = torch.zeros(made, dtype=torch.int64)
        sizes = torch.scatter_add(none, 0, of_bag, counts.long()).unsqueeze(1)
        result = result / sizes.clamp(min=1).to(result.dtype)
    empty = torch.zeros(0, dtype=torch.int64)
    return result[:bags].to(weight.dtype), empty, empty.clone(), empty.clone()


def _max_pool2d_backward(
    gradient: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Adds the gradient of each window to that of its largest element."""
    planes = torch.zeros_like(x).flatten(-2)
    return planes.scatter_add(-1, indices.flatten(-2), gradient.flatten(-2)).view(x.shape)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return attention as products of matrices."""
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        nothing = torch.zeros_like(attn_mask, dtype=query.dtype)
        attn_mask = nothing.masked_fill(attn_mask.logical_not(), -math.inf)
    products = composed(aten._scaled_dot_product_attention_math.default)
    options = {"scale": scale, "enable_gqa": enable_gqa}
    return products(query, key, value, attn_mask, dropout_p, is_causal, **options)[0]


def _glu(x: Tensor, dim: int = -1) -> Tensor:
    half = x.shape[dim] // 2
    values, gates = split_with_sizes(x, [half, half], dim)
    return values * torch.sigmoid(gates)


def _rrelu(
    x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, _: Any = None
) -> Any:
    """Only training draws slopes at random."""
    return NotImplemented if training else aten.leaky_relu(x, (lower + upper) / 2)


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._embedding_bag.default: _embedding_bag,
    aten._embedding_bag_forward_only.default: _embedding_bag,
    aten.col2im.default: decomposition_table[aten.col2im.default],
    aten.glu.default: _glu,
    aten.max_pool2d_with_indices_backward.default: _max_pool2d_backward,
    aten.native_dropout_backward.default: decomposition_table[aten.native_dropout_backward.default],
    aten.rrelu.default: _rrelu,
    **{
        operator: composed(operator)
        for operator in (
            aten._convolution_mode.default,
            aten.conv3d.default,
            aten.conv3d.padding,
            aten.conv_transpose3d.input,
            aten.embedding_bag.default,
            aten.embedding_bag.padding_idx,
        )
    },
}
