"""The loss of margins between a target's score and all others, as PyTorch's kernel computes it.

The kernel leaves out margins that are NaN. PyTorch's own form for traces makes the loss NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import _reduction


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Take scores [N, C] or [C]. NotImplemented for what PyTorch refuses, and for 16 bits."""
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    if input.dim() not in (1, 2) or target.dim() > 1 or p not in (1, 2):
        return NotImplemented
    if input.dtype not in (torch.float32, torch.float64) or reduction not in _REDUCTIONS:
        return NotImplemented
    rows = input.reshape(-1, input.shape[-1])
    places = target.reshape(-1)
    if isinstance(rows.shape[0], int) and places.shape[0] != rows.shape[0]:
        return NotImplemented
    own = places.unsqueeze(1)
    margins = margin - rows.gather(1, own) + rows
    margins = torch.where(margins > 0, margins, 0.0)
    if p == 2:
        margins = margins.square()
    if weight is not None:
        margins = margins * weight[own]
    is_other = torch.arange(rows.shape[1]) != own
    losses = torch.where(is_other, margins, 0.0).sum(1) / rows.shape[1]
    return losses.reshape(target.shape) if reduction == "none" else getattr(losses, reduction)()


_REDUCTIONS = ("none", "mean", "sum")

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.nn.functional.multi_margin_loss: multi_margin_loss,
}
