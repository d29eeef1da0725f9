"""Results that are as large as values say, and what is computed from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from polystate.errors import ContractError, ExportError
from tests.end_to_end.twins import Twins, every_backend

BATCH = {0: Dim("batch", min=1, max=6)}


class Selections(nn.Module):
    """What is found in a matrix, and what is computed from it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))
        self.weight = nn.Parameter(torch.randn(5, 4), requires_grad=False)

    def found(self, x: Tensor) -> list[Tensor]:
        rows = x[x[:, 0] > 0]
        self.seen.add_(rows.sum(0))
        return [
            x.nonzero(),
            torch.argwhere(x > 0),
            x.masked_select(x > 0),
            x[:, :1].masked_select(x > 0),  # of more elements than the tensor has
            *torch.where(x > 0),
            rows,
            x[x > 0],
        ]

    def computed(self, x: Tensor) -> list[Tensor]:
        rows, places = x[x[:, 0] > 0], x.nonzero()
        values = x[x > 0]
        return [
            rows @ rows.sum(0),
            functional.linear(rows, self.weight),
            values[:, None] * values,
            rows.softmax(-1).mean(0),
            values.sum() + places.shape[0],
            values.cumsum(0),
            values[:2],
            rows.T[:, :1],
            torch.cat([values, x[x < -1]]),
            functional.pad(values, (0, 24 - values.shape[0])),
            x[places[:, 0]] + self.seen,
            torch.stack(torch.where(x > 0), 1),
            x.masked_scatter(x > 0, values * 2),
        ]


@every_backend
def test_results_have_the_sizes_that_values_say(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    shapes = {"x": BATCH}
    example = (torch.randn(4, 4),)
    methods = {
        name: ps.Method(name, example, dynamic_shapes=shapes) for name in ("found", "computed")
    }
    twins = Twins(Selections(), methods, tmp_path, backend)
    assert twins.program.methods["found"].outputs[0].shape == [None, 2]
    inputs = [torch.randn(rows, 4) for rows in (2, 4, 6)]
    for x in [*inputs, torch.ones(6, 4), -torch.ones(3, 4), torch.zeros(6, 4), torch.eye(4)]:
        found = twins.call("found", x)
        assert len(found[0]) == x.count_nonzero()
        twins.call("computed", x)


class OfAnySize(nn.Module):
    """What has a largest size, or a number of parts, because the dimensions of inputs have one."""

    def forward(self, x: Tensor) -> list[Tensor]:
        return [x.nonzero(), x[x > 0], x.masked_select(x < 0), x.unique(), *x.chunk(3)]

    def viewed(self, x: Tensor) -> list[Tensor]:
        return [x.view(3, 8) * 2, x.reshape(-1, 6) + 1]


@every_backend
@pytest.mark.parametrize("dim", [Dim.AUTO, Dim.DYNAMIC])
def test_ranges_need_no_names(dim: Any, tmp_path: Path, backend: str) -> None:
    example = (torch.randn(8, 3),)
    methods = {
        "forward": ps.Method("forward", example, dynamic_shapes=({0: dim(min=6, max=9)},)),
        "viewed": ps.Method(
            "viewed", example, dynamic_shapes=({0: Dim.AUTO(max=64), 1: Dim.AUTO(max=64)},)
        ),
    }
    twins = Twins(OfAnySize(), methods, tmp_path, backend)
    for rows in (6, 8, 9):
        twins.call("forward", torch.randn(rows, 3))
    for shape in ((2, 12), (8, 3), (4, 6)):
        twins.call("viewed", torch.randn(shape))
    with pytest.raises(ContractError, match="24"):
        twins.session.run("viewed", torch.randn(5, 6))


class Repeated(nn.Module):
    def forward(self, x: Tensor, counts: Tensor) -> tuple[Tensor, ...]:
        rows = x.repeat_interleave(counts, 0)
        torch._check(rows.shape[0] <= 10)
        return rows, rows.amax(0), x.repeat_interleave(counts.clamp(max=1), output_size=2)


@every_backend
def test_elements_are_repeated_as_often_as_values_say(tmp_path: Path, backend: str) -> None:
    x, counts = torch.randn(3), torch.tensor([1, 0, 4])
    twins = Twins(Repeated(), {"forward": ps.Method("forward", (x, counts))}, tmp_path, backend)
    twins.call("forward", x, counts)
    twins.call("forward", x, torch.tensor([5, 5, 0]))
    for wrong in ([1, 10, 0], [1, -1, 2], [2**62, 2**62, 0], [2**32 + 1, 1, 0], [0, 0, 0]):
        with pytest.raises(ContractError):
            twins.session.run("forward", x, torch.tensor(wrong))


class Without(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.arange(x.sum().long().item()) * 2


def test_a_size_without_a_bound_is_asked_for() -> None:
    method = ps.Method("forward", (torch.ones(3),))
    with pytest.raises(ExportError, match=r"no maximum.*torch._check\(n <= 100\)"):
        ps.export(Without(), {"forward": method}, backend="portable")
