"""Division of integers: what PyTorch gives, or its error, and never the end of the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES
from tests.support.exported_models import exported

SMALLEST = torch.iinfo(torch.int64).min

BY_TENSORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "floor": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "fmod": torch.fmod,
    "floor_of_number": lambda a, b: 17 // b,
    "remainder_of_number": lambda a, b: 17 % b,
    "trunc_of_number": lambda a, b: torch.div(torch.tensor(17), b, rounding_mode="trunc"),
    "floor_mode": lambda a, b: torch.div(a, b, rounding_mode="floor"),
}
BY_NUMBERS: list[Callable[[Tensor], Tensor]] = [
    lambda a: a // -1,
    lambda a: torch.div(a, -1, rounding_mode="trunc"),
    lambda a: a % -1,
    lambda a: torch.fmod(a, -1),
    lambda a: a % -3,
    lambda a: torch.div(a, 7, rounding_mode="trunc"),
    lambda a: torch.fmod(a, 5),
]


def all_by(b: Tensor) -> dict[str, Tensor]:
    return dict.fromkeys(BY_TENSORS, b)


class Divisions(nn.Module):
    """Divisions with a divisor each, so that one alone may be zero."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([7, -8, 9]))

    def forward(self, a: Tensor, b: dict[str, Tensor]) -> list[Tensor]:
        self.total.add_(a)
        quotients = [divide(a, b[name]) for name, divide in BY_TENSORS.items()]
        return [*quotients, *(divide(a) for divide in BY_NUMBERS)]


@pytest.fixture(params=ENGINES, scope="module")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ps.Session:
    example = (torch.tensor([1, 2, 3]), all_by(torch.tensor([1, 2, 3])))
    methods = {"forward": ps.Method("forward", example)}
    folder = tmp_path_factory.mktemp("divisions") / "artifact"
    artifact = exported(Divisions(), methods, request.param).save(folder)
    return ps.load(artifact, trust_code=True).session()


def run(session: ps.Session, a: Tensor, b: dict[str, Tensor]) -> Sequence[Tensor]:
    return session.run("forward", a, *b.values())


def test_quotients_and_remainders_are_pytorchs(session: ps.Session) -> None:
    torch.manual_seed(3)
    for largest in [20, 2**62] * 25:
        a = torch.randint(-largest, largest, (3,))
        b = torch.randint(1, 9, (3,)) * torch.tensor([1, -1, 1])
        expected = Divisions()(a, all_by(b))
        for found, wanted in zip(run(session, a, all_by(b)), expected, strict=True):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize("name", BY_TENSORS)
def test_the_smallest_integer_by_minus_one_is_itself(session: ps.Session, name: str) -> None:
    a, ones = torch.tensor([SMALLEST, 5, SMALLEST]), torch.ones(3, dtype=torch.int64)
    results = run(session, a, {**all_by(ones), name: torch.tensor([-1, -1, 1])})
    found = results[list(BY_TENSORS).index(name)].tolist()
    if name.endswith("of_number"):
        assert found == ([0, 0, 0] if name.startswith("remainder") else [-17, -17, 17])
    else:
        assert found == ([0, 0, 0] if name in ("remainder", "fmod") else [SMALLEST, -5, SMALLEST])
    floor, trunc, remainder, fmod, *_ = results[len(BY_TENSORS) :]
    assert floor.tolist() == trunc.tolist() == [SMALLEST, -5, SMALLEST]
    assert remainder.tolist() == fmod.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", BY_TENSORS)
def test_division_by_zero_is_an_error_that_leaves_the_state(session: ps.Session, name: str) -> None:
    session.reset()
    a, ones = torch.tensor([1, 2, SMALLEST]), torch.ones(3, dtype=torch.int64)
    with pytest.raises(ps.ContractError, match="forward"):
        run(session, a, {**all_by(ones), name: torch.tensor([1, 0, -1])})
    assert session.state["total"].tolist() == [7, -8, 9]
    run(session, a, all_by(ones))
