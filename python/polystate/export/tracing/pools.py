"""Pools over sizes that vary, written so that they fix none.

PyTorch reads the sizes of `max_pool1d` as numbers. With ``ceil_mode`` every pool asks whether its
last window starts within its input. Here the input is padded for as many windows as there may be,
and windows that start behind it are cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def _max_pool(rank: int) -> Callable[..., Any]:
    """The largest elements of windows. NotImplemented where PyTorch's own fixes no size."""

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        sizes = input.shape[-rank:] if ceil_mode else input.shape if rank == 1 else ()
        if return_indices or not any(isinstance(size, torch.SymInt) for size in sizes):
            return NotImplemented
        kernel, padding, dilation = (_each(rank, n) for n in (kernel_size, padding, dilation))
        stride = _each(rank, stride) if stride else kernel
        if not ceil_mode:
            return _maxima(rank, input, kernel, stride, padding, dilation)
        lowest = -torch.inf if input.is_floating_point() else torch.iinfo(input.dtype).min
        padded = functional.pad(input, _pads(padding, stride), value=lowest)
        maxima = _maxima(rank, padded, kernel, stride, [0] * rank, dilation)
        return _within(maxima, input.shape[-rank:], stride, padding)

    return pool


def _maxima(rank: int, input: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    if rank > 1:
        return (torch.max_pool2d if rank == 2 else torch.max_pool3d)(
            input, kernel, stride, padding, dilation
        )
    planes = input.reshape(-1, *input.shape[-2:]).unsqueeze(-2)
    window = ((1, *kernel), (1, *stride), (0, *padding), (1, *dilation))
    maxima = torch.max_pool2d(planes, *window).squeeze(-2)
    return maxima if input.dim() == 3 else maxima.squeeze(0)


def _mean_pool(rank: int) -> Callable[..., Any]:
    """The means of windows. NotImplemented where PyTorch's own fixes no size."""

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        sizes = input.shape[-rank:]
        if not ceil_mode or not any(isinstance(size, torch.SymInt) for size in sizes):
            return NotImplemented
        kernel, padding = _each(rank, kernel_size), _each(rank, padding)
        stride = _each(rank, stride) if stride else kernel
        behind = _pads([0] * rank, stride)

        def sums(of: Tensor, around: float) -> Any:
            padded = functional.pad(of, [p for p in reversed(padding) for _ in "lr"], value=around)
            found = _sums(rank, functional.pad(padded, behind), kernel, stride)
            return _within(found, sizes, stride, padding)

        is_short = input.dtype in (torch.float16, torch.bfloat16)
        totals = sums(input.float() if is_short else input, 0.0)
        if divisor_override is not None:
            return (totals / divisor_override).to(input.dtype)
        ones: Any = torch.ones
        counts = sums(ones((1, *sizes), dtype=totals.dtype), 1.0 if count_include_pad else 0.0)
        return (totals / counts).to(input.dtype)

    return pool


def _sums(rank: int, input: Tensor, kernel: Any, stride: Any) -> Tensor:
    if rank == 1:
        window = ((1, *kernel), (1, *stride))
        return functional.avg_pool2d(input.unsqueeze(-2), *window, divisor_override=1).squeeze(-2)
    pool = functional.avg_pool2d if rank == 2 else functional.avg_pool3d
    return pool(input, kernel, stride, divisor_override=1)


def _each(rank: int, numbers: Any) -> list[int]:
    """A number for each dimension; one may stand for all."""
    given = list(numbers) if isinstance(numbers, tuple | list) else [numbers]
    return given * rank if len(given) == 1 else given


def _pads(padding: list[int], stride: list[int]) -> list[int]:
    """Give the padding at both ends of each dimension, the last one first, with one more window."""
    pairs = zip(reversed(padding), reversed(stride), strict=True)
    return [pad for before, step in pairs for pad in (before, before + step - 1)]


def _within(pooled: Tensor, sizes: Any, stride: list[int], padding: list[int]) -> Tensor:
    """The windows that start within the input or before it."""
    smaller: Any = torch.sym_min
    for i, (size, step, before) in enumerate(zip(sizes, stride, padding, strict=True)):
        dim = i - len(stride)
        starts = (size + before - 1) // step + 1
        pooled = pooled.narrow(dim, 0, smaller(pooled.shape[dim], starts))
    return pooled


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.max_pool1d: _max_pool(1),
    torch.max_pool2d: _max_pool(2),
    torch.max_pool3d: _max_pool(3),
    functional.max_pool1d: _max_pool(1),
    functional.max_pool2d: _max_pool(2),
    functional.max_pool3d: _max_pool(3),
    functional.avg_pool1d: _mean_pool(1),
    functional.avg_pool2d: _mean_pool(2),
    functional.avg_pool3d: _mean_pool(3),
}
