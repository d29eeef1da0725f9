"""Elements that are read or written at places which indices, diagonals or strides name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._prims_common import is_contiguous_or_false
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from polystate.export.graph.sizes import may_be_zero
from polystate.export.tracing.decompositions.composites import composed

aten = torch.ops.aten

# How ``scatter_reduce`` calls what ``scatter`` calls otherwise.
_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def _take(x: Tensor, index: Tensor) -> Any:
    return aten.index.Tensor(x.reshape(-1), (index.reshape(-1),)).reshape(index.shape)


def _take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    """Gathers from all elements in a row, unless there is a dimension."""
    if dim is None:
        return x.reshape(-1).gather(0, indices.reshape(-1))
    return composed(aten.take_along_dim.default)(x, indices, dim)


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Any:
    flat = aten.index_put(x.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _scatter_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, *, reduce: str) -> Any:
    return aten.scatter_reduce.two(x, dim, index, source, _REDUCTIONS[reduce])


def _scatter_reduce_number(x: Tensor, dim: int, index: Tensor, number: Any, *, reduce: str) -> Any:
    source = torch.full(index.shape, number, dtype=x.dtype)
    return aten.scatter_reduce.two(x, dim, index, source, _REDUCTIONS[reduce])


def _diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    places = torch.arange(source.shape[-1], device=x.device)
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    moved = x.movedim((dim1, dim2), (0, 1))
    changed = torch.index_put(moved, (rows, columns), source.movedim(-1, 0))
    return changed.movedim((0, 1), (dim1, dim2)).contiguous()


def _as_strided(
    x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Selects elements where their places are read from a tensor, which checks them."""
    offset = 0 if storage_offset is None else storage_offset
    is_row_by_row = is_contiguous_or_false(x) and x.storage_offset() == 0
    if not is_row_by_row or not _are_read(x, size, stride, offset):
        return NotImplemented
    for step in stride:
        torch._check(step >= 0)  # type: ignore[no-untyped-call]
    last = offset + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if statically_known_true(offset >= 0) and statically_known_true(last < x.numel()):
        return NotImplemented
    places = _strided_places(x, size, stride, offset)
    return x.flatten().index_select(0, places.flatten()).view(places.shape)


def _as_strided_scatter(
    x: Tensor,
    source: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Reads strides as distances between elements: they are where elements lie row by row."""
    if not is_contiguous_or_false(x):
        return NotImplemented
    offset = 0 if storage_offset is None else storage_offset
    places = _strided_places(x, size, stride, offset)
    if _are_read(x, size, stride, offset):  # negative places are checked, too
        written = x.flatten().scatter(0, places.flatten(), source.to(x.dtype).flatten())
        return written.view(x.shape)
    return torch.index_put(x.flatten(), (places,), source.to(x.dtype)).view(x.shape)


def _are_read(x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> bool:
    """Tell whether elements of tensors decide the view, other than those that decide x's sizes."""
    of_sizes = free_unbacked_symbols(x.shape)
    return any(free_unbacked_symbols(each) - of_sizes for each in (*size, *stride, offset))


def _strided_places(x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> Tensor:
    places = torch.full([1] * len(size), offset, dtype=torch.int64)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        steps = torch.arange(count, device=x.device) * step
        places = places + steps.view([-1 if at == dim else 1 for at in range(len(size))])
    return places


def _repeat_interleave(
    x: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Selects by the places that the overload of counts alone gives."""
    if dim is None:
        x, dim = x.flatten(), 0
    if repeats.dim() == 0 or (isinstance(repeats.shape[0], int) and repeats.shape[0] == 1):
        repeats = repeats.reshape(1).expand(x.shape[dim])
    places = aten.repeat_interleave.Tensor(repeats, output_size=output_size)
    return x.index_select(dim, places)


def _max_unpool(x: Tensor, indices: Tensor, sizes: Sequence[int], *_: Any) -> Any:
    """Scatter the elements of each plane, or volume, which checks their places in it.

    PyTorch's own decomposition writes what lies outside of a plane into another one.
    """
    if x.shape != indices.shape or 0 in x.shape[-len(sizes) - 1 :]:  # which PyTorch refuses
        return NotImplemented
    first = -len(sizes)
    planes = x.new_zeros([*x.shape[:first], math.prod(sizes)])
    scattered = planes.scatter(-1, indices.flatten(first), x.flatten(first))
    return scattered.reshape([*x.shape[:first], *sizes])


def _unsafe_masked_index(
    x: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: float
) -> Any:
    """Counts negative indices from the end, as PyTorch's own kernel does."""
    count = x.numel()
    if isinstance(count, int) and count == 0:
        return decomposition_table[aten._unsafe_masked_index.default](x, mask, indices, fill)
    if may_be_zero(count):
        return NotImplemented
    bounded = [
        index if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, x.shape, strict=False)
    ]
    return aten._unsafe_index(x, bounded).masked_fill(~mask, fill)


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._unsafe_masked_index.default: _unsafe_masked_index,
    aten.as_strided.default: _as_strided,
    aten.as_strided_scatter.default: _as_strided_scatter,
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.gather_backward.default: composed(aten.gather_backward.default),
    aten.index_select_backward.default: composed(aten.index_select_backward.default),
    aten.max_unpool2d.default: _max_unpool,
    aten.max_unpool3d.default: _max_unpool,
    aten.put.default: _put,
    aten.repeat_interleave.self_Tensor: _repeat_interleave,
    aten.scatter.reduce: _scatter_reduce,
    aten.scatter.value_reduce: _scatter_reduce_number,
    aten.take.default: _take,
    aten.take_along_dim.default: _take_along_dim,
}
