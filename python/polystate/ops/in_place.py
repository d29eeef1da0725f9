"""Operators that write into a state buffer instead of returning a changed copy.

Each means what ATen's operator of the same name without the underscore does, with ``self`` as its
result too. What is written must have ``self``'s dtype; bounds are checked before anything is
written. The exporter puts them into a lowered program where nothing reads the old value later.
"""

from __future__ import annotations

import torch

from polystate.ops.library import define


def _require_dtype(name: str, self: torch.Tensor, source: torch.Tensor) -> None:
    if source.dtype != self.dtype:
        raise TypeError(f"{name}: a {source.dtype} source cannot be written into {self.dtype}")


def _slice_scatter_(
    self: torch.Tensor, src: torch.Tensor, dim: int, start: int, end: int, step: int
) -> torch.Tensor:
    _require_dtype("slice_scatter_", self, src)
    return self.copy_(torch.slice_scatter(self, src, dim, start, end, step))


def _select_scatter_(self: torch.Tensor, src: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    _require_dtype("select_scatter_", self, src)
    return self.copy_(torch.select_scatter(self, src, dim, index))


def _index_copy_(
    self: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor
) -> torch.Tensor:
    _require_dtype("index_copy_", self, source)
    return self.index_copy_(dim, index, source)


def _index_put_(
    self: torch.Tensor,
    indices: list[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool,
) -> torch.Tensor:
    _require_dtype("index_put_", self, values)
    torch.ops.aten.index_put_.default(self, indices, values, accumulate)
    return self


def _fake(self: torch.Tensor, *_: object) -> torch.Tensor:
    return self


# self[..., start:end:step, ...] = src; the slice is of dimension `dim`, clamped as Python's are.
define(
    "slice_scatter_(Tensor(a!) self, Tensor src, int dim, SymInt start, SymInt end, SymInt step)"
    " -> Tensor(a!)",
    _slice_scatter_,
    _fake,
)
# self[..., index, ...] = src; a negative index counts from the end.
define(
    "select_scatter_(Tensor(a!) self, Tensor src, int dim, SymInt index) -> Tensor(a!)",
    _select_scatter_,
    _fake,
)
# self[..., index[i], ...] = source[..., i, ...]; no index is negative; of equal ones the last wins.
define(
    "index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
    _index_copy_,
    _fake,
)
# self[indices] = values, or += with `accumulate`; values are broadcast, bool indices are masks, and
# None takes a whole dimension.
define(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate) -> Tensor(a!)",
    _index_put_,
    _fake,
)
