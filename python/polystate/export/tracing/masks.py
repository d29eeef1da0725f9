"""Elements and rows by a mask: ``x[mask]``, ``x[mask] = value``.

ExecuTorch's kernels search a mask from its beginning for each place where it is true. PyTorch finds
all places at once; so does a trace here, or it chooses from the whole tensor.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten


def elements(input: Tensor, index: Any) -> Any:
    """Read elements by a mask; NotImplemented where the index is not a mask."""
    if not _is_mask(input, index):
        return NotImplemented
    return input[torch.nonzero(index, as_tuple=True)]


def set_elements(input: Tensor, index: Any, value: Any) -> Any:
    """Write elements by a mask; NotImplemented where the index is not a mask."""
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


def _is_mask(input: Tensor, index: Any) -> bool:
    """Whether an index is a mask over leading dimensions of a tensor."""
    if not isinstance(index, FakeTensor) or index.dtype != torch.bool:
        return False
    if not 0 < index.dim() <= input.dim() or input.is_complex():
        return False
    return all(
        statically_known_true(a == b) for a, b in zip(index.shape, input.shape, strict=False)
    )
