"""Windows of a tensor that lie apart, as views through which a program may write.

PyTorch's own view of windows loses what lies between and behind them where a trace writes
through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class WindowsAsParts(TorchFunctionMode):
    """Lets a trace see them as views of other kinds, within its block."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.unfold:
            windows = _windows(*args, **(kwargs or {}))
            if windows is not None:
                return windows
        return func(*args, **(kwargs or {}))


def _windows(input: Tensor, dimension: int, size: int, step: int) -> Tensor | None:
    """None where windows share elements, sizes vary, or the last one has too few behind it."""
    if input.dim() == 0 or not 0 < size <= step:
        return None
    whole = input.shape[dimension]
    if isinstance(whole, torch.SymInt) or whole < size:
        return None
    count = (whole - size) // step + 1
    if count * step > whole:
        return None
    dimension %= input.dim()
    apart = torch.unflatten(input.narrow(dimension, 0, count * step), dimension, (count, step))
    return apart.narrow(dimension + 1, 0, size).movedim(dimension + 1, -1)
