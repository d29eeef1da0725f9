"""Division of integers: what PyTorch gives, or its error, and never the end of the process."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES
from tests.support.exported_models import exported

SMALLEST = torch.iinfo(torch.int64).min


class Divisions(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([7, -8, 9]))

    def forward(self, a: Tensor, b: Tensor) -> list[Tensor]:
        self.total.add_(a)
        return [
            a // b,
            a % b,
            torch.div(a, b, rounding_mode="trunc"),
            torch.fmod(a, b),
            a // -1,
            torch.div(a, -1, rounding_mode="trunc"),
            a % -3,
            17 % b,
            torch.div(a, 7, rounding_mode="trunc"),
            torch.fmod(a, 5),
        ]


@pytest.fixture(params=ENGINES, scope="module")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ps.Session:
    example = (torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]))
    methods = {"forward": ps.Method("forward", example)}
    folder = tmp_path_factory.mktemp("divisions") / "artifact"
    artifact = exported(Divisions(), methods, request.param).save(folder)
    return ps.load(artifact, trust_code=True).session()


def test_quotients_and_remainders_are_pytorchs(session: ps.Session) -> None:
    torch.manual_seed(3)
    for largest in [20, 2**62] * 25:
        a = torch.randint(-largest, largest, (3,))
        b = torch.randint(1, 9, (3,)) * torch.tensor([1, -1, 1])
        for found, wanted in zip(session.run("forward", a, b), Divisions()(a, b), strict=True):
            assert torch.equal(found, wanted)


def test_the_smallest_integer_by_minus_one_is_itself(session: ps.Session) -> None:
    a, b = torch.tensor([SMALLEST, 5, SMALLEST]), torch.tensor([-1, -1, 1])
    floor, remainder, trunc, fmod, *_ = session.run("forward", a, b)
    assert floor.tolist() == trunc.tolist() == [SMALLEST, -5, SMALLEST]
    assert remainder.tolist() == fmod.tolist() == [0, 0, 0]


def test_division_by_zero_is_an_error_that_leaves_the_state(session: ps.Session) -> None:
    session.reset()
    a, b = torch.tensor([1, 2, SMALLEST]), torch.tensor([1, 0, -1])
    with pytest.raises(ps.ContractError, match="forward"):
        session.run("forward", a, b)
    assert session.state["total"].tolist() == [7, -8, 9]
    session.run("forward", a, torch.tensor([1, 1, -1]))
