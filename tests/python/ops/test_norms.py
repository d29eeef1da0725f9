"""Layer norms are run by an operator of polystate's own, and stay what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps

OPERATOR = "polystate::layer_norm.out"


class Norm(nn.Module):
    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.norm = norm
        with torch.no_grad():
            for number, parameter in enumerate(norm.parameters()):
                chance = torch.Generator().manual_seed(number)
                parameter.copy_(torch.randn(parameter.shape, generator=chance))

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "norm",
    [
        nn.LayerNorm(24),
        nn.LayerNorm(24, eps=0.5),
        nn.LayerNorm([3, 24]),
        nn.LayerNorm(24, bias=False),
        nn.LayerNorm(24, elementwise_affine=False),
    ],
)
def test_the_runtime_computes_the_same(norm: nn.LayerNorm, tmp_path: Path) -> None:
    model = Norm(norm).eval()
    rows = {0: Dim("rows", min=1, max=200)}
    methods = {"forward": ps.Method("forward", (torch.zeros(4, 3, 24),), dynamic_shapes=(rows,))}
    program = ps.export(model, methods, backend="portable")
    path = program.save(tmp_path / "artifact")
    assert OPERATOR in (path / "manifest.json").read_text()
    session = ps.load(path).session()
    for count in (1, 7, 200):
        x = 5 + 2 * torch.randn(count, 3, 24, generator=torch.Generator().manual_seed(count))
        with torch.no_grad():
            torch.testing.assert_close(session.run("forward", x)[0], model(x))
