"""Elements and rows by a mask: ``x[mask]``, ``x[mask] = value``.

ExecuTorch's kernels search a mask from its beginning for each place where it is true. PyTorch finds
all places at once; so does a trace here, or it chooses from the whole tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten


def elements(input: Tensor, index: Any) -> Any:
    """Read elements by masks. NotImplemented if there is no mask that fits the tensor."""
    places = _places(input, index)
    return NotImplemented if places is None else input[places]


def set_elements(input: Tensor, index: Any, value: Any) -> Any:
    """Write elements by masks. NotImplemented if there is no mask that fits the tensor."""
    if isinstance(index, tuple):
        places = _places(input, index)
        if places is None:
            return NotImplemented
        input[places] = value
        return None
    if not _is_mask(input, index):
        return NotImplemented
    if not isinstance(value, Tensor):
        if not isinstance(value, bool | int | float):
            return NotImplemented
        value = torch.full((), value, dtype=input.dtype)
    behind = input.dim() - index.dim()
    while value.dim() > 1 + behind and value.shape[0] == 1:
        value = value[0]
    if value.dim() == 0:
        mask = index.reshape(*index.shape, *[1] * behind) if behind else index
        input.masked_fill_(mask, value.to(input.dtype))
    else:
        places = torch.nonzero(index, as_tuple=True)
        aten.index_put_(input, list(places), value.to(input.dtype))
    return None


def _places(input: Tensor, index: Any) -> tuple[Any, ...] | None:
    """Replace each mask of an index by the places where it is true.

    None if there is no mask, or one does not fit the tensor.
    """
    given = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_truth, given)) or input.is_complex():
        return None
    places: list[Any] = []
    dim = 0
    for each in written_out(list(given), input.dim()):
        if not _is_truth(each):
            places.append(each)
            dim += each is not None
        elif _has_sizes(each, input.shape[dim : dim + each.dim()]):
            places.extend(torch.nonzero(each, as_tuple=True))
            dim += each.dim()
        else:
            return None
    return tuple(places)


def _is_mask(input: Tensor, index: Any) -> bool:
    """Whether an index is a mask over leading dimensions of a tensor."""
    return (
        _is_truth(index)
        and not input.is_complex()
        and _has_sizes(index, input.shape[: index.dim()])
    )


def _is_truth(index: Any) -> bool:
    return isinstance(index, FakeTensor) and index.dtype == torch.bool and index.dim() > 0


def _has_sizes(mask: Tensor, sizes: Sequence[int | torch.SymInt]) -> bool:
    return len(sizes) == mask.dim() and all(
        statically_known_true(a == b) for a, b in zip(mask.shape, sizes, strict=True)
    )


def written_out(indices: list[Any], rank: int) -> list[Any]:
    """Indices with slices in the place of ``...``, of a tensor of some dimensions."""
    for at, each in enumerate(indices):
        if each is Ellipsis:
            taken = sum(map(_dimensions_of, indices))
            return [*indices[:at], *[slice(None)] * (rank - taken), *indices[at + 1 :]]
    return indices


def _dimensions_of(index: Any) -> int:
    """How many dimensions of a tensor an index is for."""
    if isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8):  # which are masks
        return index.dim()
    return 0 if index is None or index is Ellipsis or isinstance(index, bool) else 1
