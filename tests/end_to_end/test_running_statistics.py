"""Statistics that normalisations keep of their inputs, which are state where they are buffers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import polystate as ps
from polystate.errors import ExportError
from tests.end_to_end.twins import ENGINES, Twins, every_backend


class Statistics(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.instance = nn.InstanceNorm1d(3, track_running_stats=True, momentum=0.3)
        self.affine = nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
        self.batch = nn.BatchNorm1d(3)
        self.fixed = nn.InstanceNorm1d(3, track_running_stats=True).eval()
        self.fixed.running_mean.normal_()
        self.register_buffer("mean", torch.randn(3))
        self.register_buffer("var", torch.rand(3))

    def forward(self, x: Tensor) -> list[Tensor]:
        found = torch.batch_norm_update_stats(x, self.mean, self.var, 0.2)
        return [
            self.instance(x),
            self.affine(x.unsqueeze(-1)),
            self.batch(x),
            self.fixed(x),
            *found,
        ]


@every_backend
def test_running_statistics_in_buffers_are_state(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(6)
    model = Statistics().requires_grad_(False)
    methods = {"forward": ps.Method("forward", (torch.randn(2, 3, 5),))}
    twins = Twins(model, methods, tmp_path, backend)
    for _ in range(3):
        twins.call("forward", torch.randn(2, 3, 5) * 3 + 1)
    assert not any(name.startswith("fixed") for name in twins.program.state)


MEAN, VAR = torch.zeros(3), torch.ones(3)


@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize(
    "change",
    [
        lambda x: functional.instance_norm(x, MEAN, VAR, use_input_stats=True),
        lambda x: functional.batch_norm(x, MEAN, VAR, training=True),
        lambda x: torch.batch_norm_update_stats(x, MEAN, VAR, 0.1)[0],
        lambda x: functional.embedding(x.sum(1).long() % 3, MEAN.view(1, 3), max_norm=0.5),
    ],
    ids=["instance_norm", "batch_norm", "batch_norm_update_stats", "embedding"],
)
def test_running_statistics_elsewhere_are_refused(
    change: Callable[[Tensor], Tensor], backend: str
) -> None:
    class Outside(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return change(x)

    methods = {"forward": ps.Method("forward", (torch.ones(2, 3, 4),))}
    with pytest.raises(ExportError, match="register"):
        ps.export(Outside(), methods, backend=backend)
