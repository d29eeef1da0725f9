"""ExecuTorch's passes to its edge dialect leave the same program in two traces as in eight."""

from __future__ import annotations

import contextlib
from pathlib import Path
from unittest import mock

import pytest
import torch
from executorch.exir.pass_base import ExportPass
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from polystate.export.lowering import edge_passes
from tests.support.altered_artifacts import digest_of


class Replaced(nn.Module):
    """What each of the passes replaces: views, numbers and sizes beside tensors, mixed types."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.register_buffer("total", torch.zeros(6))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x).t() @ x + torch.ones(4, dtype=torch.float64).to(torch.float32)
        self.total += y.transpose(0, 1).sum(0) * x.shape[0]
        self.count += 1
        z = torch.where(y > 0.5, y, 2) + self.count
        mixed = z * torch.arange(4) + x.to(torch.float16).sum(0)
        return torch.minimum(mixed, self.count / 3).to(memory_format=torch.contiguous_format)

    def chosen(self, p: Tensor, x: Tensor) -> Tensor:
        return torch.cond(
            p, lambda x: x.t().reshape(-1) + 1, lambda x: x.view(-1) * self.count, (x,)
        )


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_the_artifact_is_the_same(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = Replaced().eval()
    batch = Dim("batch", min=1, max=9)
    methods = {
        "forward": ps.Method("forward", (torch.randn(3, 4),), dynamic_shapes=({0: batch},)),
        "chosen": ps.Method("chosen", (torch.tensor(True), torch.randn(2, 3))),
    }
    trace = ExportPass.call
    digests, counts = [], []
    for in_two_traces in (edge_passes.in_two_traces, contextlib.nullcontext):
        monkeypatch.setattr(edge_passes, "in_two_traces", in_two_traces)
        with mock.patch.object(ExportPass, "call", autospec=True, side_effect=trace) as traces:
            artifact = ps.export(model, methods, backend=backend).save(tmp_path / str(len(counts)))
        digests.append(digest_of(artifact))
        counts.append(traces.call_count)
    assert digests[0] == digests[1]
    assert counts[1] - counts[0] == 5 * len(methods)
