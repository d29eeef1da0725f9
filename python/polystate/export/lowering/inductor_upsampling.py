"""Linear, bilinear and trilinear upsampling for AOTInductor, as PyTorch's kernels compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import guard_or_false


def of_weighted_neighbours(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Weighs both neighbours of each result, one dimension after another.

    PyTorch's decomposition, which still writes integers, adds a part of their difference to the
    first: between two infinities that is NaN. It also interpolates a dimension that keeps its size,
    where a scale is given; the kernels take its elements as they are.
    """

    def upsampled(
        x: Tensor, sizes: Sequence[int], align_corners: bool, scales: Sequence[float | None]
    ) -> Tensor:
        if not x.is_floating_point():
            return write(x, sizes, align_corners, scales)
        result = x.float() if x.dtype.itemsize == 2 else x
        for dim, size, scale in reversed([*zip(range(2, x.dim()), sizes, scales, strict=True)]):
            result = _along(result, dim, size, align_corners=align_corners, scale=scale)
        layout: Any = torch._prims_common.suggest_memory_format(x)
        return result.to(x.dtype).contiguous(memory_format=layout)

    return upsampled


def _along(
    x: Tensor, dim: int, results: int, *, align_corners: bool, scale: float | None
) -> Tensor:
    """The results of one dimension, each of two neighbours that are weighed."""
    size = x.shape[dim]
    numbers = torch.arange(results, device=x.device)
    if guard_or_false(size == results):
        first = second = numbers
        part = torch.zeros_like(numbers, dtype=x.dtype)
    else:
        places = _places(numbers.to(x.dtype), size, align_corners=align_corners, scale=scale)
        first = places.to(torch.int64).clamp(max=size - 1)
        second = (first + 1).clamp(max=size - 1)
        part = (places - first).clamp(0.0, 1.0)
    part = part.reshape(-1, *[1] * (x.dim() - dim - 1))
    of_first = torch.ops.aten._unsafe_index(x, [*[None] * dim, first])
    of_second = torch.ops.aten._unsafe_index(x, [*[None] * dim, second])
    result: Tensor = of_first * (1.0 - part) + of_second * part
    return result


def _places(numbers: Tensor, size: int, *, align_corners: bool, scale: float | None) -> Tensor:
    """Where results lie among the elements of a dimension."""
    results = numbers.shape[0]
    if align_corners:
        return numbers * ((size - 1.0) / (results - 1.0) if results > 1 else 0.0)
    elements_per_result = 1.0 / scale if scale is not None and scale > 0 else size / results
    return ((numbers + 0.5) * elements_per_result - 0.5).clamp(min=0.0)
