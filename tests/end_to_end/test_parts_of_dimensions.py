"""Parts of a dimension whose size varies are as large as PyTorch makes them, on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps


class Parts(nn.Module):
    """What a dimension may have less of than a slice asks for."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        shorter = x[:, : torch.sym_min(x.shape[0], 3)]
        return x[:5], x[-4:] + 1, x[:7].flatten(), x[3:], x[:5:2], x[2:6].sum(0), shorter * 2


@pytest.mark.parametrize("backend", ["portable", "xnnpack", "aoti"])
def test_no_example_decides_how_large_a_part_is(backend: str, tmp_path: Path) -> None:
    size = torch.export.Dim("size", min=1, max=9)
    method = ps.Method("forward", (torch.randn(6, 4),), dynamic_shapes=({0: size},))
    program = ps.export(Parts(), {"forward": method}, backend=backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    for count in range(1, 10):
        x = torch.randn(count, 4)
        for found, right in zip(session.run("forward", x), Parts()(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), right)
