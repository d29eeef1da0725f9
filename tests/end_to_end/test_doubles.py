"""Numbers beside float64 are those of float64, in whatever operator they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import BACKENDS, Twins


class Doubles(nn.Module):
    def made(self, x: Tensor) -> tuple[Tensor, ...]:
        line = torch.linspace(0.5, 1, 4, dtype=torch.float64)
        return line + x, torch.logspace(0.1, 1, 4, dtype=torch.float64) * x

    def sums(self, x: Tensor) -> tuple[Tensor, ...]:
        square = x.mT @ x
        return (
            torch.addcmul(x, x, x + 1, value=0.3),
            torch.addcdiv(x, x, x.abs() + 7, value=-0.7),
            torch.baddbmm(x[None], x[None], square[None], beta=0.1, alpha=0.3),
            x.renorm(2, 0, 0.7),
        )

    def activations(self, x: Tensor) -> tuple[Tensor, ...]:
        return functional.softplus(x, 1.3, 0.7), functional.celu(x, 0.3), functional.elu(x, 0.7)

    def attention(self, x: Tensor) -> tuple[Tensor, ...]:
        q, rows = x[None], x.shape[0]
        attend = functional.scaled_dot_product_attention
        return (
            attend(q, q, q * 2),
            attend(q, q, q, is_causal=True, scale=0.3),
            attend(q, q, q, torch.ones(rows, rows, dtype=torch.bool).tril(), scale=0.7),
            attend(q, q, q, q @ q.mT),
        )


NAMES = ["made", "sums", "activations", "attention"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_are_those_of_float64(tmp_path: Path, backend: str) -> None:
    rows = ({0: Dim("rows", min=1, max=6)},)
    example = (torch.randn(3, 4, dtype=torch.float64),)
    methods = {name: ps.Method(name, example, dynamic_shapes=rows) for name in NAMES}
    twins = Twins(Doubles(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-12, "atol": 1e-13}
    for count in (1, 6, 2):
        for name in NAMES:
            twins.call(name, torch.randn(count, 4, dtype=torch.float64))
