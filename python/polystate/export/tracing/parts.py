"""Functions of PyTorch's that divide a dimension into parts, whose sizes may vary.

PyTorch reads the sizes of chunks and of equal parts as numbers, and asks of each part of
`tensor_split` whether it is one of the larger ones. The number of parts must not vary.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._sympy.numbers import int_oo

from polystate.errors import UnsupportedError
from polystate.export.graph.sizes import limits

aten = torch.ops.aten


def _chunks(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """Chunks of equal size, rounded up; the last one may be smaller.

    NotImplemented where the size is known: PyTorch's own function is called.
    """
    size = input.shape[dim]
    if not isinstance(size, torch.SymInt):
        return NotImplemented
    count, largest = _count(size, chunks), (size + chunks - 1) // chunks
    return _between(input, dim, [*(i * largest for i in range(1, count))])


def _count(size: torch.SymInt, chunks: int) -> int:
    """The number of parts, which is smaller than what is asked for where the size is small."""
    low, high = (int(min(each, chunks**2)) for each in _range(size))  # from there on as many
    counts = {_count_of(each, chunks) for each in range(low, high + 1)}
    if len(counts) > 1:
        raise _of_several_counts(
            f"chunk({chunks})",
            counts,
            size,
            f"a min for which it is {chunks * (chunks - 1)} or more",
        )
    return counts.pop()


def _of_several_counts(
    call: str, counts: Collection[int], size: torch.SymInt, wanted: str
) -> UnsupportedError:
    low, high = _range(size)
    return UnsupportedError(
        f"{call} gives {min(counts)} to {max(counts)} parts of a dimension of {low} to {high}, and "
        f"a program one number of them: give the dimension a Dim with {wanted}"
    )


def _range(size: torch.SymInt) -> tuple[Any, Any]:
    found = limits(size)
    return found.lower, found.upper


def _count_of(size: int, chunks: int) -> int:
    largest = -(-size // chunks)
    return -(-size // largest) if largest else chunks


def _split(input: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Parts of one size, of which the last may be smaller; NotImplemented where all is known."""
    size = input.shape[dim] if input.dim() else 0
    if not isinstance(size, torch.SymInt) or not isinstance(split_size, int) or split_size < 1:
        return NotImplemented
    if int_oo in _range(size):
        return NotImplemented
    counts = {max(-(-int(each) // split_size), 1) for each in _range(size)}
    if len(counts) > 1:
        most = max(counts) * split_size
        raise _of_several_counts(
            f"split({split_size})",
            counts,
            size,
            f"min={most - split_size + 1} and max={most}, or take a part by itself: "
            f"x[:{split_size}]",
        )
    return _between(input, dim, [i * split_size for i in range(1, counts.pop())])


def _tensor_split(
    input: Tensor,
    tensor_indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
) -> Any:
    """Parts before and behind indices, or as many as are asked for, the first ones larger.

    NotImplemented where all is known.
    """
    given = [tensor_indices_or_sections, indices, sections]
    places: Any = next((each for each in given if each is not None), None)
    if not input.dim():
        return NotImplemented
    size = input.shape[dim]
    if isinstance(places, FakeTensor) and places.dim() == 1 and places.dtype == torch.int64:
        return _between_values(input, dim, places)
    if not isinstance(size, torch.SymInt) or not isinstance(places, int) or places < 1:
        return NotImplemented
    smaller: Any = torch.sym_min
    least, larger = size // places, size % places
    return _between(input, dim, [i * least + smaller(i, larger) for i in range(1, places)])


def _equal_parts(dims: Callable[[Tensor], int]) -> Callable[..., Any]:
    """As many parts of one size as are asked for. NotImplemented where all is known.

    Parameters
    ----------
    dims
        Gives the dimension of a tensor that is divided.
    """

    def split(input: Tensor, sections: Any = None, *, indices: Any = None) -> Any:
        if not isinstance(sections, int) or sections < 1 or indices is not None:
            return NotImplemented
        dim = dims(input)
        size = input.shape[dim] if dim < input.dim() else 0
        if not isinstance(size, torch.SymInt):
            return NotImplemented
        check: Any = torch._check
        check(size % sections == 0)
        return _between(input, dim, [i * (size // sections) for i in range(1, sections)])

    return split


_hsplit = _equal_parts(lambda x: 0 if x.dim() == 1 else 1)
_vsplit = _equal_parts(lambda _: 0)
_dsplit = _equal_parts(lambda _: 2)


def _between(input: Tensor, dim: int, places: list[Any]) -> tuple[Tensor, ...]:
    ends = [0, *places, input.shape[dim]]
    return tuple(aten.slice.Tensor(input, dim, *each) for each in itertools.pairwise(ends))


def _between_values(input: Tensor, dim: int, indices: Tensor) -> tuple[Tensor, ...]:
    """Copies of the parts between indices that only the run knows."""
    size: Any = input.shape[dim]
    check: Any = torch._check
    places = torch.where(indices < 0, indices + size, indices).clamp(min=0).clamp(max=size)
    full: Any = torch.full
    ends = torch.cat([full((1,), 0), places, full((1,), size)])
    lengths = (ends[1:] - ends[:-1]).clamp(min=0)
    parts = []
    for i in range(lengths.shape[0]):
        length: Any = lengths[i].item()
        check(length >= 0)
        check(length <= size)
        parts.append(input.index_select(dim, ends[i] + torch.arange(length)))
    return tuple(parts)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.chunk: _chunks,
    torch.dsplit: _dsplit,
    torch.hsplit: _hsplit,
    torch.tensor_split: _tensor_split,
    torch.unsafe_chunk: _chunks,
    torch.split: _split,
    torch.unsafe_split: _split,
    torch.vsplit: _vsplit,
    Tensor.chunk: _chunks,
    Tensor.dsplit: _dsplit,
    Tensor.hsplit: _hsplit,
    Tensor.split: _split,
    Tensor.tensor_split: _tensor_split,
    Tensor.unsafe_chunk: _chunks,
    Tensor.unsafe_split: _split,
    Tensor.vsplit: _vsplit,
}
