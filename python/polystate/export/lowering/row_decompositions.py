"""Operators of rows and windows that ExecuTorch lacks, written by those that have fast kernels.

Each computes what PyTorch's operator of its name does. Other engines compile PyTorch's own forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp.decompositions import upsample_compute_output_size
from torch._prims_common import is_contiguous_or_false, make_contiguous_strides_for

aten = torch.ops.aten


def _triu(x: Tensor, diagonal: Any = 0) -> Any:
    """The lower triangle of what is turned about its centre, turned back."""
    height, width = x.shape[-2:]
    turned = aten.tril.default(x.flip(-2, -1), width - height - diagonal)
    return turned.flip(-2, -1)


def _im2col(
    x: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """Windows by strides, as `unfold` has them."""
    if any(padding):
        x = aten.constant_pad_nd.default(x, [padding[1], padding[1], padding[0], padding[0]])
    if not is_contiguous_or_false(x):
        x = x.clone(memory_format=torch.contiguous_format)
    strides = make_contiguous_strides_for(x.shape)
    counts = [
        (size - apart * (places - 1) - 1) // step + 1
        for size, apart, places, step in zip(
            x.shape[-2:], dilation, kernel_size, stride, strict=True
        )
    ]
    planes = strides[:-2]
    within = [apart * each for apart, each in zip(dilation, strides[-2:], strict=True)]
    between = [step * each for step, each in zip(stride, strides[-2:], strict=True)]
    windows = x.as_strided([*x.shape[:-2], *kernel_size, *counts], [*planes, *within, *between])
    rows = x.shape[-3] * kernel_size[0] * kernel_size[1]
    return windows.reshape(*x.shape[:-3], rows, counts[0] * counts[1])


def _max_pool1d(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """Of planes of one row, which are views."""
    planes = x.reshape(*x.shape[:-1], 1, x.shape[-1])
    windows = ([1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding], [1, *dilation])
    values = aten.max_pool2d_with_indices.default(planes, *windows, ceil_mode)[0]
    return values.reshape(*values.shape[:-2], values.shape[-1])


def _repeat_interleave(
    x: Tensor, repeats: Any, dim: int | None = None, *, output_size: Any = None
) -> Any:
    """Copies once, between views."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    before, behind = x.shape[: dim % x.dim() + 1], x.shape[dim % x.dim() + 1 :]
    apart = x.reshape(*before, 1, *behind)
    repeated = aten.expand_copy.default(apart, [*before, repeats, *behind])
    return repeated.reshape(*before[:-1], before[-1] * repeats, *behind)


def _upsampled(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """The operator of given sizes, whose kernel is ours.

    PyTorch writes most by an index for each neighbour, and by differences of these: beside an
    infinity it gives NaN, where its own kernels give infinity.
    """

    def upsampled(x: Tensor, output_size: Sequence[int] | None, *options: Any) -> Any:
        *corners, scale_factors = options
        size_of: Any = upsample_compute_output_size
        sizes = size_of(x.shape, output_size, scale_factors)
        return operator(x, sizes, *corners, *(scale_factors or [None] * len(sizes)))

    return upsampled


_UPSAMPLING = (
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d,
    aten.upsample_bicubic2d,
    aten.upsample_bilinear2d,
    aten.upsample_linear1d,
    aten.upsample_nearest1d,
    aten.upsample_nearest2d,
    aten.upsample_nearest3d,
    aten.upsample_trilinear3d,
)

ROW_OPERATORS: dict[Any, Callable[..., Any]] = {
    aten.im2col.default: _im2col,
    aten.max_pool1d.default: _max_pool1d,
    aten.repeat_interleave.self_int: _repeat_interleave,
    aten.triu.default: _triu,
    **{operator.vec: _upsampled(operator.default) for operator in _UPSAMPLING},
}
