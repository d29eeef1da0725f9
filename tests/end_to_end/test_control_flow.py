"""Branches give what eager PyTorch gives, wherever their results and operands lie."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES, Twins

pytestmark = pytest.mark.parametrize("backend", ENGINES)

TRUE, FALSE = torch.tensor(True), torch.tensor(False)


class Branches(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, -2.0, 0.5]))
        self.linear = nn.Linear(3, 3)

    def two(self, p: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        a = torch.cond(p, lambda v: v * 2, lambda v: v * 3, (v,))
        b = torch.cond(p, lambda v: v * 4, lambda v: v * 5, (v,))
        return a, b

    def across(self, p: Tensor, q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """A result that lives across other conditions, one of which is within a branch."""
        a = torch.cond(p, lambda v: v.sin(), lambda v: v.cos(), (v,))

        def inner(v: Tensor) -> Tensor:
            first = torch.cond(q, lambda v: v + 1, lambda v: v - 1, (v,))
            second = torch.cond(q, lambda v: v * 10, lambda v: v * 20, (v,))
            return first * second + first

        b = torch.cond(p, inner, lambda v: v / 2, (v,))
        c = torch.cond(q, lambda v: v.abs(), lambda v: -v, (v,))
        return a + b, a * c

    def with_weights(self, p: Tensor, v: Tensor) -> tuple[Tensor]:
        return (torch.cond(p, lambda v: self.linear(v), lambda v: v * 2, (v,)),)

    def state_in_a_branch(self, p: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The branch's result is taken before the state changes, and is not to change with it."""
        old = torch.cond(p, lambda t: t * 1, lambda t: t + 0.0, (self.total,))
        self.total.add_(v)
        new = torch.cond(p, lambda t: t * 2, lambda t: t * 3, (self.total,))
        return old, new

    def chosen_state(self, p: Tensor, v: Tensor) -> Tensor:
        self.total.copy_(torch.cond(p, lambda t, v: t + v, lambda t, v: t - v, (self.total, v)))
        return self.total * 2


METHODS = {
    "two": ps.Method("two", (TRUE, torch.zeros(3))),
    "across": ps.Method("across", (TRUE, TRUE, torch.zeros(3))),
    "state_in_a_branch": ps.Method("state_in_a_branch", (TRUE, torch.zeros(3))),
    "chosen_state": ps.Method("chosen_state", (TRUE, torch.zeros(3))),
    "with_weights": ps.Method("with_weights", (TRUE, torch.zeros(3))),
}


def test_results_of_branches_have_memory_of_their_own(tmp_path: Path, backend: str) -> None:
    twins = Twins(Branches(), METHODS, tmp_path, backend)
    for p in (TRUE, FALSE):
        twins.call("two", p, torch.randn(3))
        for q in (TRUE, FALSE):
            twins.call("across", p, q, torch.randn(3))
    for p in (TRUE, FALSE, FALSE, TRUE):
        twins.call("state_in_a_branch", p, torch.randn(3))
        twins.call("chosen_state", p, torch.randn(3))
        twins.call("with_weights", p, torch.randn(3))
