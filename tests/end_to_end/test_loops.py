"""What is scanned and mapped gives what eager PyTorch gives, wherever results and operands lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops.scan import scan
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import BACKENDS, Twins, aoti_first

# AOTInductor compiles each loop as a function of C++, with memory of its own.
every_engine = pytest.mark.parametrize(
    "backend", [*BACKENDS, pytest.param("aoti", marks=pytest.mark.exhaustive)]
)

ROWS = {0: Dim("rows", min=1, max=9)}
SMALLEST = torch.iinfo(torch.int64).min


class Loops(nn.Module):
    total: Tensor
    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, -2.0, 0.5]))
        self.register_buffer("calls", torch.tensor(0))
        self.linear = nn.Linear(3, 3)

    def scanned(self, x: Tensor) -> Any:
        """Two scans of nested values; the first one's results live across the second."""
        old = self.total * 1

        def step(carry: Any, e: Tensor) -> Any:
            h, c = carry
            return (h * 0.5 + self.linear(e), c + self.total), {"was": h.clone(), "by": (c * e,)}

        def turn(c: Tensor, e: Tensor) -> Any:
            chosen = torch.cond(e.sum() > 0, lambda c: c * 2, lambda c: c * 3, (c,))
            return c * 0.5 - e, chosen

        (h, c), seen = scan(step, (self.total.clone(), torch.zeros(3)), x)
        self.total.copy_(h.tanh())
        last, turned = scan(turn, c.clone(), seen["was"], reverse=True)
        return old, h, c, seen, last, turned

    def mapped(self, x: Tensor, v: Tensor) -> Any:
        """Three maps, of which one has several operands and results."""
        a = torch_map(lambda e: e * self.total, x)
        self.total.add_(v)

        def both(pair: Any, v: Tensor) -> Any:
            e, f = pair
            return {"sum": e + f * self.total, "less": [e - v]}

        b = torch_map(both, (x, a), v)
        c = torch_map(lambda e, v: torch.cond(e.sum() > 0, torch.sin, torch.cos, (e + v,)), a, v)
        return a, b, c

    def divided(self, a: Tensor, b: Tensor) -> Any:
        """Divisions that PyTorch refuses in the middle of a loop."""
        self.calls.add_(1)

        def step(carry: Tensor, e: Any) -> Any:
            return carry + e[0], torch.div(e[0], e[1], rounding_mode="trunc")

        return scan(step, torch.zeros(3, dtype=torch.int64), (a, b)), torch_map(
            lambda e: e[0] // e[1], (a, b)
        )


@every_engine
def test_scans_and_maps_are_what_they_are_in_eager(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    model = Loops().requires_grad_(False)
    x, v = torch.zeros(4, 3), torch.zeros(3)
    methods = {
        "scanned": ps.Method("scanned", (x,), dynamic_shapes=(ROWS,)),
        "mapped": ps.Method("mapped", (x, v), dynamic_shapes=(ROWS, None)),
    }
    twins = Twins(model, methods, tmp_path, backend)
    for count in (4, 1, 9, 7):
        twins.call("scanned", torch.randn(count, 3))
        twins.call("mapped", torch.randn(count, 3), torch.randn(3))


@every_engine
def test_a_loop_that_is_refused_half_way_begins_anew(tmp_path: Path, backend: str) -> None:
    ones = torch.ones(4, 3, dtype=torch.int64)
    methods = {"divided": ps.Method("divided", (ones, ones))}
    twins = Twins(Loops().requires_grad_(False), methods, tmp_path, backend)
    for row in range(4):
        divisors = torch.randint(1, 9, (4, 3))
        twins.call("divided", torch.randint(-99, 99, (4, 3)), divisors)
        divisors[row, 1] = 0
        with pytest.raises(ps.ContractError, match="divided"):
            twins.session.run("divided", ones, divisors)
        twins.compare_state()
    found = twins.session.run("divided", ones * SMALLEST, -ones)
    assert all(torch.equal(each, ones * SMALLEST) for each in found[1:])


class Followed(nn.Module):
    """Loops whose results are computed with, and whose memory could be taken for that."""

    def forward(self, x: Tensor) -> list[Tensor]:
        last, rows = scan(lambda c, e: (c * 0.5 + e.flip(0), e - c), x[0].clone(), x)
        mapped = torch_map(lambda e, w: e.where(e > 0, 0.25) + w, rows + last, last)
        return [mapped * 2, rows.sin() - mapped]


@aoti_first
def test_results_of_loops_are_computed_with(tmp_path: Path, backend: str) -> None:
    twins = Twins(
        Followed(), {"forward": ps.Method("forward", (torch.randn(10, 7),))}, tmp_path, backend
    )
    twins.call("forward", torch.randn(10, 7))
