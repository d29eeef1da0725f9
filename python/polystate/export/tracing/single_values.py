"""PyTorch's functions that take a number, or a single sample, as their trace does not.

The trace takes a tensor without dimensions for one without elements in `nonzero`, and wants the
class of a single sample without dimensions in `nll_loss`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def _nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    if not as_tuple or input.dim() > 0:
        return NotImplemented
    return input.reshape(1).nonzero(as_tuple=True)


def _where(condition: Tensor) -> Any:
    return _nonzero(condition, as_tuple=True)


def _of_class(loss: Callable[..., Tensor]) -> Callable[..., Any]:
    def of_class(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Any:
        if input.dim() != 1 or target.dim() != 1 or target.is_floating_point():
            return NotImplemented
        return loss(input, target.reshape(()), *args, **kwargs)

    return of_class


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    functional.cross_entropy: _of_class(functional.cross_entropy),
    functional.nll_loss: _of_class(functional.nll_loss),
    torch.nonzero: _nonzero,
    torch.where: _where,
    Tensor.nonzero: _nonzero,
}
