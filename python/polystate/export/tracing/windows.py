"""Windows of a tensor that lie apart, as views through which a program may write.

Where a trace writes through PyTorch's own view of windows, the elements between and behind them are
lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _windows(input: Tensor, dimension: int, size: int, step: int) -> Any:
    """Windows that share no elements, of a fixed size, if the tensor has a whole step for each."""
    if input.dim() == 0 or not 0 < size <= step:
        return NotImplemented
    whole = input.shape[dimension]
    if isinstance(whole, torch.SymInt) or whole < size:
        return NotImplemented
    count = (whole - size) // step + 1
    if count * step > whole:
        return NotImplemented
    dimension %= input.dim()
    apart = torch.unflatten(input.narrow(dimension, 0, count * step), dimension, (count, step))
    return apart.narrow(dimension + 1, 0, size).movedim(dimension + 1, -1)


FUNCTIONS: dict[Any, Callable[..., Any]] = {Tensor.unfold: _windows}
