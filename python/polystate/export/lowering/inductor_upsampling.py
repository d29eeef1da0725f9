"""Linear, bilinear and trilinear upsampling for AOTInductor, as PyTorch's kernels compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def of_weighted_neighbours(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Weighs both neighbours of each result, one dimension after another.

    PyTorch's decomposition, which still writes integers, adds a part of their difference to the
    first: between two infinities that is NaN.
    """

    def upsampled(
        x: Tensor, sizes: Sequence[int], align_corners: bool, scales: Sequence[float | None]
    ) -> Tensor:
        if not x.is_floating_point():
            return write(x, sizes, align_corners, scales)
        result = x.float() if x.dtype.itemsize == 2 else x
        for dim, size, scale in reversed([*zip(range(2, x.dim()), sizes, scales, strict=True)]):
            result = _along(result, dim, (size, align_corners, scale))
        layout: Any = torch._prims_common.suggest_memory_format(x)
        return result.to(x.dtype).contiguous(memory_format=layout)

    return upsampled


def _along(x: Tensor, dim: int, way: tuple[int, bool, float | None]) -> Tensor:
    results, align_corners, scale = way
    size = x.shape[dim]
    numbers = torch.arange(results, device=x.device).to(x.dtype)
    if align_corners:
        places = numbers * ((size - 1.0) / (results - 1.0) if results > 1 else 0.0)
    else:
        by = 1.0 / scale if scale is not None and scale > 0 else size / results
        places = ((numbers + 0.5) * by - 0.5).clamp(min=0.0)
    first = places.to(torch.int64).clamp(max=size - 1)
    second = (first + 1).clamp(max=size - 1)
    part = (places - first).clamp(0.0, 1.0).reshape(-1, *[1] * (x.dim() - dim - 1))
    before = [None] * dim
    of_first, of_second = (
        torch.ops.aten._unsafe_index(x, [*before, index]) for index in (first, second)
    )
    result: Tensor = of_first * (1.0 - part) + of_second * part
    return result
