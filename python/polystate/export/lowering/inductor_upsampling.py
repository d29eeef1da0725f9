"""Resizing of images and volumes for AOTInductor, as PyTorch's kernels compute it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import guard_or_false

# PyTorch declares no types for these.
_larger: Any = torch.sym_max
_smaller: Any = torch.sym_min


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
    step = _step(size, numbers.shape[0], align_corners=align_corners, scale=scale)
    if align_corners:
        return numbers * step
    return ((numbers + 0.5) * step - 0.5).clamp(min=0.0)


def of_filtered_elements(filter_: Callable[[Tensor], Tensor], reach: int) -> Callable[..., Tensor]:
    """Weighs all elements that a result covers, one dimension after another: without aliasing.

    Where an image becomes one column, each row has its own result. PyTorch's kernels repeat the
    first row there, so that the export of such a call is refused.

    Parameters
    ----------
    filter_
        The weights of distances from the middle of a result.
    reach
        The distance from which the weights are 0.

    Returns
    -------
    Callable
        What computes PyTorch's operator for floats, and returns NotImplemented for other images.
    """

    def resized(
        x: Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        if not x.is_floating_point():
            return NotImplemented  # type: ignore[no-any-return]
        result = x
        for dim, size, scale in ((3, output_size[1], scales_w), (2, output_size[0], scales_h)):
            if guard_or_false(size == x.shape[dim]):
                continue
            step = _step(x.shape[dim], size, align_corners=align_corners, scale=scale)
            covered = 2 * math.ceil(reach * _larger(step, 1.0)) + 1
            result = _of_covered(result, dim, size, step, covered, filter_, reach)
        layout: Any = torch._prims_common.suggest_memory_format(x)
        return result.contiguous(memory_format=layout)

    return resized


def triangle(distances: Tensor) -> Tensor:
    """The weights of bilinear resizing without aliasing; they reach to 1."""
    return (1.0 - distances.abs()).clamp(min=0.0)


def cubic(distances: Tensor) -> Tensor:
    """The weights of bicubic resizing without aliasing; they reach to 2."""
    x = distances.abs()
    near = (1.5 * x - 2.5) * x * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return torch.where(x < 1.0, near, torch.where(x < 2.0, far, 0.0))


def _of_covered(
    x: Tensor,
    dim: int,
    results: int,
    elements_per_result: float,
    covered: int,
    filter_: Callable[[Tensor], Tensor],
    reach: int,
) -> Tensor:
    """The results of one dimension, each of the elements that it covers."""
    size = x.shape[dim]
    # Where a size varies, only the run knows whether there are as many results: then these are the
    # elements, whatever the scale.
    is_kept = torch.full((), size, device=x.device) == results
    step = torch.full((), elements_per_result, dtype=x.dtype, device=x.device)
    step = torch.where(is_kept, 1.0, step)
    width = step.clamp(min=1.0)
    middles = step * (torch.arange(results, dtype=x.dtype, device=x.device) + 0.5)
    first = (middles - reach * width + 0.5).to(torch.int64).clamp(min=0)
    end = (middles + reach * width + 0.5).to(torch.int64).clamp(max=size)
    places = first[:, None] + torch.arange(covered, device=x.device)
    weights = filter_((places - middles[:, None] + 0.5) / width)
    is_covered = (places < end[:, None]) & ~(is_kept & (weights == 0.0))
    # AOTInductor computes what is given strides once, and others anew for each element of a sum.
    weights = torch.where(is_covered, weights, 0.0).as_strided((results, covered), (covered, 1))
    weights = weights / weights.sum(1, keepdim=True)
    shape = [results, covered, *[1] * (x.dim() - dim - 1)]
    elements = torch.ops.aten._unsafe_index(x, [*[None] * dim, places.clamp(max=size - 1)])
    # An infinite element that is not covered must not count, not even with a weight of 0.
    products = torch.where(is_covered.view(shape), elements * weights.view(shape), 0.0)
    return products.sum(dim + 1)


def _step(size: int, results: int, *, align_corners: bool, scale: float | None) -> float:
    """How many elements of a dimension there are to a result."""
    if align_corners:  # 0 of one result; a question would be answered for the example alone
        between: Any = results - 1
        step: float = (size - 1.0) / _larger(between, 1) * _smaller(between, 1)
        return step
    return 1.0 / scale if scale is not None and scale > 0 else size / results
