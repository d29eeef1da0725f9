"""Slices of dimensions whose sizes vary, without regard to the example.

PyTorch's trace of ``x[:5]`` assumes that there are five elements if the example has them, and does
not note this where it treats sizes 0 and 1 as any other. Here the slice has ``min(5, n)`` elements.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental.symbolic_shapes import statically_known_true

from polystate.export.graph.sizes import is_unbacked

aten = torch.ops.aten


@contextlib.contextmanager
def of_any_size() -> Iterator[None]:
    """Corrects slices within the block, in PyTorch's trace and in later passes."""
    fakes: dict[Any, Callable[..., Any]] = op_implementations_dict
    exact = _exact(fakes[aten.slice.Tensor])
    with mock.patch.dict(fakes, {aten.slice.Tensor: exact}):
        yield


def _exact(slice_: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `slice_`, which still does what is known, and what depends on values."""

    def exact(
        mode: Any,
        operator: Any,
        x: Tensor,
        dim: int = 0,
        start: Any = None,
        end: Any = None,
        step: int = 1,
    ) -> Any:
        size: Any = x.shape[dim] if x.dim() else 0
        numbers = [each for each in (size, start, end) if isinstance(each, torch.SymInt)]
        if not numbers or any(map(is_unbacked, numbers)) or step < 1:
            return slice_(mode, operator, x, dim, start, end, step)
        is_open = end is None or statically_known_true(end == sys.maxsize)
        first = 0 if start is None else _place(start, size)
        last = size if is_open else _place(end, size)
        sizes, strides = list(x.shape), list(x.stride())
        offset = x.storage_offset() + first * strides[dim]
        sizes[dim] = (_larger(last - first, 0) + step - 1) // step
        strides[dim] *= step
        return x.as_strided(sizes, strides, offset)

    return exact


def _place(index: Any, size: Any) -> Any:
    """Bring an index of a slice, which may count from the end, into its dimension.

    If its sign is not known, the example decides, and the trace notes that.
    """
    is_from_start = statically_known_true(index >= 0) or (
        not statically_known_true(index < 0) and bool(index >= 0)
    )
    return _smaller(index, size) if is_from_start else _larger(index + size, 0)


def _smaller(a: Any, b: Any) -> Any:
    if statically_known_true(a <= b):
        return a
    smaller: Any = torch.sym_min
    return b if statically_known_true(b <= a) else smaller(a, b)


def _larger(a: Any, b: Any) -> Any:
    if statically_known_true(a >= b):
        return a
    larger: Any = torch.sym_max
    return b if statically_known_true(b >= a) else larger(a, b)
