"""New tensors, parts of tensors, joined tensors, and views of any order of memory."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._prims_common import is_contiguous_or_false, make_contiguous_strides_for
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten


def _empty(size: Sequence[int], dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """Returns zeros, since any values are right: ExecuTorch's ``empty`` has fixed sizes."""
    return torch.zeros(size, dtype=dtype)


def _new_empty(
    x: Tensor, size: Sequence[int], dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return torch.zeros(size, dtype=x.dtype if dtype is None else dtype)


def _empty_permuted(size: Sequence[int], _: Sequence[int], **options: Any) -> Tensor:
    return _empty(size, **options)


def _new_empty_strided(x: Tensor, size: Sequence[int], _: Sequence[int], **options: Any) -> Tensor:
    return _new_empty(x, size, **options)


def _narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    return x.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)


def split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Return each part by an operator of its own: ExecuTorch plans only lists of fixed sizes."""
    ends = list(itertools.accumulate(sizes))
    return [aten.slice.Tensor(x, dim, end - n, end) for n, end in zip(sizes, ends, strict=True)]


def _split(x: Tensor, size: int, dim: int = 0) -> list[Tensor]:
    whole = x.shape[dim]
    if whole == 0:
        return [aten.slice.Tensor(x, dim, 0, 0)]
    starts = range(0, whole, size)
    return split_with_sizes(x, [min(size, whole - start) for start in starts], dim)


def _unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]


def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Returns windows by strides, which programs have only for tensors that lie row by row."""
    if not is_contiguous_or_false(x):
        x = x.clone(memory_format=torch.contiguous_format)
    # The strides of x itself are no values of a program.
    strides = make_contiguous_strides_for(x.shape)
    with_windows = torch._refs._get_unfold_shape_stride(x.shape, strides, dim, size, step)
    return x.as_strided(*with_windows)


def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Any:
    """Joins tensors of several types as those of the widest, also where some have no elements."""
    dtype = functools.reduce(torch.promote_types, (each.dtype for each in tensors))
    if all(each.dtype == dtype for each in tensors):
        return NotImplemented
    return aten.cat([each.to(dtype) for each in tensors], dim)


def _view_of_any_order(x: Tensor, shape: Sequence[int]) -> Any:
    """Copies a tensor that lies in another order than in eager mode, where this is a view."""
    if is_contiguous_or_false(x):
        return NotImplemented
    return aten.view.default(x.clone(memory_format=torch.contiguous_format), shape)


def _resize(x: Tensor, size: Any, *, memory_format: torch.memory_format | None = None) -> Any:
    """Takes the first elements of a tensor; what more there would be has no values."""
    count = math.prod(size)
    if not x.is_contiguous() or not statically_known_true(count <= x.numel()):
        return NotImplemented
    return x.reshape(-1)[:count].reshape(size).clone()


def _converted(x: Tensor, dtype: torch.dtype) -> Any:
    """What some of PyTorch's decompositions consist of."""
    return aten._to_copy.default(x, dtype=dtype)


OPERATORS: dict[Any, Callable[..., Any]] = {
    torch.ops.prims.convert_element_type.default: _converted,
    aten.cat.default: _cat,
    aten.empty.memory_format: _empty,
    aten.empty_permuted.default: _empty_permuted,
    aten.narrow_copy.default: _narrow_copy,
    aten.new_empty.default: _new_empty,
    aten.new_empty_strided.default: _new_empty_strided,
    aten.resize.default: _resize,
    aten.split.Tensor: _split,
    aten.split_copy.Tensor: _split,
    aten.split_with_sizes.default: split_with_sizes,
    aten.split_with_sizes_copy.default: split_with_sizes,
    aten.unbind.int: _unbind,
    aten.unbind_copy.int: _unbind,
    aten.unfold.default: _unfold,
    aten.unsafe_split.Tensor: _split,
    aten.unsafe_split_with_sizes.default: split_with_sizes,
    aten.view.default: _view_of_any_order,
    **{
        operator: decomposition_table[operator]
        for operator in (
            aten.as_strided_copy.default,
            aten.linspace.default,
            aten.logspace.default,
            aten.permute_copy.default,
            aten.view_copy.default,
        )
    },
}
