"""Operators over tensors of several types give what eager PyTorch gives, of the same type."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import ENGINES, Twins

ROWS = {0: Dim("rows", min=1, max=5)}


class Mixed(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3, dtype=torch.float64))

    def joined(self, x: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        self.total.add_(x.sum(0))
        return (
            torch.cat([i, x]),
            torch.cat([x.half(), x.bfloat16()]),
            torch.cat([x, self.total[None]], dim=0),
            torch.stack([x > 0, i], dim=1),
            torch.hstack([i, x.half()]),
            torch.vstack([i.to(torch.uint8), i.to(torch.int8)]),
            torch.block_diag(x, i),
        )

    def with_empty(self, x: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        """What has no elements decides about the type, too."""
        return (
            torch.cat([torch.zeros(0, dtype=torch.float64), x[0]]),
            torch.cat([torch.tensor([]), i[0]]),
            torch.cat([i[:0], x]),
        )

    def losses(self, x: Tensor, i: Tensor) -> tuple[Tensor, ...]:
        target = x.double() * 1.3 + 0.1
        return (
            nn.functional.huber_loss(x, target),
            nn.functional.huber_loss(x, target, reduction="none", delta=0.2),
            nn.functional.mse_loss(x, target),
            nn.functional.smooth_l1_loss(x, target, reduction="sum"),
        )


NAMES = ["joined", "with_empty", "losses"]


@pytest.mark.parametrize("backend", ENGINES)
def test_tensors_of_several_types_are_joined_and_compared(tmp_path: Path, backend: str) -> None:
    example = (torch.randn(3, 3), torch.randint(0, 9, (3, 3)))
    methods = {name: ps.Method(name, example, dynamic_shapes=(ROWS, ROWS)) for name in NAMES}
    twins = Twins(Mixed(), methods, tmp_path, backend)
    for count in (1, 5, 2):
        for name in NAMES:
            twins.call(name, torch.randn(count, 3), torch.randint(0, 9, (count, 3)))
