"""Operators of PyTorch that AOTInductor has no C form of: libtorch's dispatcher calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import Twins


class Dispatched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("middle", torch.zeros(5))

    def ranks(self, x: Tensor) -> tuple[Tensor, ...]:
        values, places = x.median(0)
        self.middle.copy_(values)
        return values, places, *x.mode(1, keepdim=True), *x.nanmedian(-1)

    def functions(self, x: Tensor) -> tuple[Tensor, ...]:
        y = x.abs() + 1
        return (
            torch.polygamma(2, y),
            torch.special.zeta(y + 1, y),
            torch.igamma(y, y + 0.5),
            torch.special.hermite_polynomial_h(x, torch.tensor(3)),
            torch.special.hermite_polynomial_he(4 * x, torch.arange(7, 12)),
            torch.special.hermite_polynomial_he(4 * x, 11),
            torch.special.hermite_polynomial_h(2.5, y),
            torch.bincount((y * 2).long().flatten().clamp(0, 7), minlength=8),
        )

    def solved(self, a: Tensor) -> Tensor:
        self.middle += 1
        return torch.linalg.cholesky(a)


def test_results_are_pytorchs(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    methods = {name: ps.Method(name, (x,)) for name in ("ranks", "functions")}
    twins = Twins(Dispatched(), methods, tmp_path, "aoti")
    for _ in range(2):
        twins.call("ranks", x := torch.randn(4, 5))
        twins.call("functions", x)


def test_one_that_fails_says_why(tmp_path: Path) -> None:
    methods = {"solved": ps.Method("solved", (torch.eye(3),))}
    program = ps.export(Dispatched(), methods, backend="aoti", draws=ps.Draws(count=0))
    session = ps.load(program.save(tmp_path / "a"), trust_code=True).session()
    with pytest.raises(ps.Error, match="positive-definite"):
        session.run("solved", -torch.eye(3))
    (found,) = session.run("solved", torch.eye(3))
    torch.testing.assert_close(torch.as_tensor(found), torch.eye(3))
