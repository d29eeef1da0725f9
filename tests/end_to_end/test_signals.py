"""Networks of signals whose batch and length both vary."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Signals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grouped = nn.Conv1d(4, 8, 3, stride=2, padding=2, dilation=2, groups=2, bias=False)
        self.norm = nn.BatchNorm1d(8)
        self.norm.running_mean.normal_()
        self.back = nn.ConvTranspose1d(8, 4, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.norm(self.grouped(nn.functional.pad(x, (1, 0)))).relu()
        heads = x.mT.unflatten(-1, (2, 2))
        return self.back(hidden), torch.einsum("bnhd,bmhd->bhnm", heads, heads)


@every_backend
def test_batch_and_length_vary(tmp_path: Path, backend: str) -> None:
    sizes = ({0: Dim("batch", min=1, max=4), 2: Dim("length", min=3, max=9)},)
    method = ps.Method("forward", (torch.randn(2, 4, 7),), dynamic_shapes=sizes)
    twins = Twins(Signals().eval(), {"forward": method}, tmp_path, backend)
    for batch in (1, 2, 4):
        for length in (3, 6, 9):
            twins.call("forward", torch.randn(batch, 4, length))
    if backend == "xnnpack":
        assert not any("convolution" in each for each in twins.program.manifest.program.operators)
