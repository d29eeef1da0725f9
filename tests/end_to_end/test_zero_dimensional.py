"""Operators of a tensor without dimensions, of one sample, and along negative dimensions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES, Twins


class Reductions(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        values, indices = x.max(0)
        return [
            x.sum(0), x.sum(-1, keepdim=True), x.mean(0), x.norm(dim=0), x.logsumexp(0),
            x.unfold(0, 1, 1), x.amax(0), x.argmax(0), x.cumsum(0), x.softmax(0), x.prod(0),
            x.var(0, correction=0), values, indices, x.flip(0), x.unsqueeze(0),
            x.index_select(0, torch.tensor([0])), (x > 0).any(0),
            x.squeeze(0) * 2, x.squeeze(-1) + 1,
        ]  # fmt: skip

    def places(self, x: Tensor) -> list[Tensor]:
        return [*x.nonzero(as_tuple=True), *torch.where(x > 0), x.nonzero()]

    def losses(self, scores: Tensor, target: Tensor) -> list[Tensor]:
        functions = (nn.functional.cross_entropy, nn.functional.nll_loss)
        return [f(scores, target, reduction=way) for f in functions for way in ("none", "mean")]

    def narrow(self, x: Tensor) -> list[Tensor]:
        return [torch.narrow_copy(x, -1, 0, 2), torch.narrow_copy(x, -2, 1, 1), x.narrow(-1, 1, 2)]


@pytest.mark.parametrize("backend", ENGINES)
def test_reductions_of_one_number_are_pytorchs(tmp_path: Path, backend: str) -> None:
    methods = {
        "forward": ps.Method("forward", (torch.tensor(1.5),)),
        "places": ps.Method("places", (torch.tensor(1.5),)),
        "losses": ps.Method("losses", (torch.randn(3), torch.tensor([2]))),
        "narrow": ps.Method("narrow", (torch.zeros(2, 3),)),
    }
    twins = Twins(Reductions(), methods, tmp_path, backend)
    for x in (-2.5, 0.25):
        twins.call("forward", torch.tensor(x))
    for x in (-2.5, 0.0, 0.25):
        twins.call("places", torch.tensor(x))
    twins.call("losses", torch.randn(3), torch.tensor([0]))
    twins.call("narrow", torch.randn(2, 3))
