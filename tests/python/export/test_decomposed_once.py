"""What the lowering leaves out of ExecuTorch's decompositions changes no byte of an artifact."""

from __future__ import annotations

import contextlib
from pathlib import Path
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import polystate as ps
from polystate.export.lowering import lower
from tests.support.altered_artifacts import digest_of


class Mixed(nn.Module):
    """Operators that backends keep, write by others, or see as views, over state."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(4, 4, 3, padding=1)
        self.linear = nn.Linear(4, 6)
        self.register_buffer("total", torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        inner = nn.functional.hardswish(self.convolution(x.transpose(1, 2))).transpose(1, 2)
        result = self.linear(inner).view(-1, 2, 3).softmax(-1).reshape(-1, 6)
        self.total.add_(result.sum(0))
        return torch.where(result > 0, result, self.total) + torch.arange(6)

    def chosen(self, p: Tensor, x: Tensor) -> Tensor:
        chosen: Tensor = torch.cond(p, lambda x: x.view(-1).sin(), lambda x: x.view(-1) * 2, (x,))
        return chosen + self.total[0]

    def doubled(self, x: Tensor) -> Tensor:
        """Has nothing that is written by others."""
        return torch.relu(self.linear(x)) * 2


# XNNPACK's partitioner decomposes two patterns that it looks for, once in a process.
@pytest.mark.parametrize(("backend", "patterns"), [("portable", 0), ("xnnpack", 2)])
def test_the_artifact_is_the_same(
    backend: str, patterns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = Mixed().eval()
    methods = {
        "forward": ps.Method(
            "forward",
            (torch.randn(3, 5, 4),),
            dynamic_shapes=({0: Dim("batch", min=1, max=9)},),
        ),
        "chosen": ps.Method("chosen", (torch.tensor(True), torch.randn(2, 3))),
        "doubled": ps.Method("doubled", (torch.randn(2, 4),)),
    }
    decompose = ExportedProgram.run_decompositions
    digests, counts = [], []
    for decomposed_once in (lower.decomposed_once, contextlib.nullcontext):
        monkeypatch.setattr(lower, "decomposed_once", decomposed_once)
        with mock.patch.object(
            ExportedProgram, decompose.__name__, autospec=True, side_effect=decompose
        ) as decompositions:
            artifact = ps.export(model, methods, backend=backend).save(tmp_path / str(len(counts)))
        digests.append(digest_of(artifact))
        counts.append(decompositions.call_count)
    assert digests[0] == digests[1]
    # Each method is decomposed by its trace, and all but `doubled` once more by what the backend
    # does not keep.
    assert counts[0] - 2 * len(methods) + 1 in (0, patterns)
    assert counts[0] < counts[1]
