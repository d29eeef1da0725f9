"""Weights that PyTorch computes before each call, by hooks or by parametrizations."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = [
    every_backend,
    pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm`"),
]


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        with torch.no_grad():
            self.weight = nn.utils.weight_norm(nn.Linear(4, 3))
            self.spectral = nn.utils.spectral_norm(nn.Linear(3, 5))
            self.convolution = nn.utils.spectral_norm(nn.Conv1d(5, 4, 1))
            self.others = nn.Sequential(
                parametrizations.weight_norm(nn.Linear(4, 6)),
                parametrizations.spectral_norm(nn.Linear(6, 2)),
            )

    def forward(self, x: Tensor) -> Tensor:
        x = self.convolution(self.spectral(self.weight(x))[..., None])[..., 0]
        return self.others(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_training", [True, False])
def test_a_normed_weight_is_pytorchs(tmp_path: Path, backend: str, is_training: bool) -> None:
    methods = {"forward": ps.Method("forward", (torch.zeros(2, 4),))}
    twins = Twins(Normed().train(is_training), methods, tmp_path, backend)
    assert len(twins.program.state) == (6 if is_training else 0)  # two vectors of each
    for _ in range(3):
        twins.call("forward", torch.randn(2, 4))
