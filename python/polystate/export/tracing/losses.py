"""A loss whose rule for sizes that vary takes the name of a reduction, and is given its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_MEAN, _SUM = 1, 2


def _hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = _MEAN
) -> Tensor:
    of_others = torch.where(target != 1, (margin - input).clamp(min=0), 0)
    loss = of_others + torch.where(target != -1, input, 0)
    if reduction == _MEAN:
        return loss.mean()
    return loss.sum() if reduction == _SUM else loss


FUNCTIONS: dict[Any, Callable[..., Any]] = {torch.hinge_embedding_loss: _hinge_embedding_loss}
