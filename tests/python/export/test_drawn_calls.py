"""Which calls an export makes with drawn values, how many, and what it makes of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from polystate.export.tracing import assertions
from polystate.export.verification import drawn_calls, verify
from polystate.export.verification.twins import Agreed, Call, LeftOut, Twins

LONG = 40  # calls of the longest sequence


@dataclass
class Made:
    """A drawn call: the state before it, and whether calls reach that."""

    name: str
    args: Any
    state: dict[str, Tensor]
    is_reached: bool


class Clock:
    """Time that passes only during drawn calls."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def monotonic(self) -> float:
        return self.now


@contextmanager
def recorded(seconds: float = 0.0) -> Iterator[list[Made]]:
    """Record the drawn calls of the export in the block, each of which takes some seconds."""
    made: list[Made] = []
    clock = Clock(seconds)
    original, run = Twins.call_drawn, drawn_calls.DrawnCalls.run

    def call_drawn(twins: Twins, call: Call, *, is_reached: bool) -> Agreed | LeftOut:
        clock.now += clock.seconds
        state = {name: value.clone() for name, value in twins.state().items()}
        made.append(Made(call.method.name, copy.deepcopy(call.args), state, is_reached))
        return original(twins, call, is_reached=is_reached)

    def run_alone(calls: Any, left: float) -> Any:
        made.clear()  # of those that are recorded for `polystate doctor`
        clock.now = 0.0
        return run(calls, left)

    with (
        mock.patch.object(Twins, "call_drawn", call_drawn),
        mock.patch.object(drawn_calls.DrawnCalls, "run", run_alone),
        mock.patch.object(drawn_calls, "time", SimpleNamespace(monotonic=clock.monotonic)),
    ):
        yield made


class Counting(nn.Module):
    """State of each kind."""

    total: Tensor
    count: Tensor
    is_odd: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((3,), 0.25))
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("is_odd", torch.tensor(False))

    def add(self, x: Tensor, k: Tensor) -> Tensor:
        self.total.mul_(0.5).add_(x.sum(0))
        self.count.add_(1)
        self.is_odd.logical_not_()
        return self.total * k

    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * self.total, self.count + self.is_odd


ROWS = {0: Dim("rows", min=2, max=5)}
METHODS = {
    "add": ps.Method(
        "add", (torch.zeros(3, 3), torch.tensor(2)), dynamic_shapes={"x": ROWS, "k": None}
    ),
    "read": ps.Method("read", (torch.zeros(3),)),
}


def exported(seconds: float = 0.0, **options: Any) -> tuple[ps.Program, list[Made]]:
    with recorded(seconds) as made:
        return ps.export(Counting(), METHODS, backend="portable", **options), made


@pytest.fixture(scope="module")
def usual() -> tuple[ps.Program, list[Made]]:
    return exported()


def sequences(made: list[Made]) -> list[list[Made]]:
    """Calls that follow one another from an initial or a drawn state on."""
    found: list[list[Made]] = []
    calls = 0
    for each in made:
        follows = found and found[-1][0].is_reached == each.is_reached
        if not follows or int(each.state["count"]) != calls:
            found.append([])
            calls = 0
        found[-1].append(each)
        calls += each.name == "add"
    return found


def test_methods_follow_one_another_by_chance_over_one_state(
    usual: tuple[ps.Program, list[Made]],
) -> None:
    _, made = usual
    orders = {tuple(each.name for each in sequence) for sequence in sequences(made)}
    assert len(orders) > 5
    assert max(map(len, sequences(made))) == LONG


def test_drawn_state_has_other_floats_and_the_integers_and_bools_that_calls_reach(
    usual: tuple[ps.Program, list[Made]],
) -> None:
    _, made = usual
    begun = [sequence[0] for sequence in sequences(made) if int(sequence[0].state["count"]) == 0]
    drawn = [each for each in begun if not each.is_reached]
    assert 0.3 < len(drawn) / len(begun) < 0.6
    initial = torch.full((3,), 0.25)
    for each in begun:
        assert torch.equal(each.state["total"], initial) == each.is_reached
    assert any((each.state["total"] < 0).any() for each in drawn)
    for sequence in sequences(made):
        count = 0
        for each in sequence:
            assert int(each.state["count"]) == count
            assert bool(each.state["is_odd"]) == (count % 2 == 1)
            count += each.name == "add"


def test_every_corner_is_called_with_floats_of_the_scale_1_first_and_of_others_later(
    usual: tuple[ps.Program, list[Made]],
) -> None:
    _, made = usual
    first, later = made[:4], made[4:]
    corners = {(each.name, len(each.args[0])) for each in first}
    assert corners == {("add", 2), ("add", 3), ("add", 5), ("read", 3)}
    assert all(0.1 < each.args[0].abs().max() < 5 for each in first)
    sizes = [len(each.args[0]) for each in later if each.name == "add"]
    assert set(sizes) == {2, 3, 4, 5} and min(sizes.count(2), sizes.count(5)) > 3
    scales = [float(each.args[0].abs().max()) for each in later]
    assert min(scales) < 0.1 and max(scales) > 20


@pytest.mark.parametrize(
    ("seconds", "part", "count"),
    [
        (0.3, 0.0, 7),  # two seconds
        (9.0, 0.0, 4),  # one at each corner
        (0.3, 1e6, 2 * 32 + LONG),  # a part of the export's own time
    ],
)
def test_as_many_calls_are_made_as_there_is_time_for(
    seconds: float, part: float, count: int
) -> None:
    with mock.patch.object(verify, "_PART", part):
        program, made = exported(seconds)
    assert program.verification is not None
    assert program.verification.draws == ps.Draws(0, count)
    assert sum(tally.drawn for tally in program.verification.tallies.values()) == len(made) == count
    assert f"verified with {count} drawn calls of seed 0" in program.report()


def same(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_the_draws_that_a_program_records_are_made_again(
    usual: tuple[ps.Program, list[Made]],
) -> None:
    first, made = exported(0.05, draws=ps.Draws(seed=11))
    assert first.verification is not None
    again, remade = exported(draws=first.verification.draws)
    assert again.verification is not None
    assert again.verification.draws == first.verification.draws
    assert again.verification.tallies == first.verification.tallies
    assert len(made) == len(remade) == 40
    for one, other in zip(made, remade, strict=True):
        assert (one.name, one.is_reached) == (other.name, other.is_reached)
        assert all(torch.equal(a, b) for a, b in zip(one.args, other.args, strict=True))
        assert same(one.state, other.state)
    of_another_seed = usual[1][: len(made)]
    assert not all(same(a.state, b.state) for a, b in zip(made, of_another_seed, strict=True))


def test_what_is_recorded_for_doctor_has_drawn_values(
    usual: tuple[ps.Program, list[Made]],
) -> None:
    program, _ = usual
    assert program.verification is not None
    for name in METHODS:
        inputs = [call.inputs[0] for n, call in program.verification.recorded_calls if n == name]
        example, drawn = inputs
        assert not example.any()
        assert (drawn < 0).any() and (drawn > 0).any()


class Entropies(nn.Module):
    chance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("chance", torch.tensor([0.5, 0.25]))

    def of_state(self, x: Tensor) -> Tensor:
        self.chance.add_(x.sigmoid()).mul_(0.5)
        return nn.functional.binary_cross_entropy(self.chance * 1, torch.ones(2))

    def of_input(self, x: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy(x, torch.ones(2)) + self.chance.sum()


def test_a_program_may_take_what_eager_refuses_in_no_state_that_calls_reach() -> None:
    """Without the checks, the program computes something of what are no probabilities."""
    with mock.patch.object(assertions, "assert_eager_checks", lambda graph: None):
        methods = {"of_state": ps.Method("of_state", (torch.zeros(2),))}
        program = ps.export(Entropies(), methods, backend="portable")
        assert program.verification is not None
        tally = program.verification.tallies["of_state"]
        assert tally.left_out["the module refused them"] > 0 and tally.agreed > 0
        methods = {"of_input": ps.Method("of_input", (torch.zeros(2),))}
        with pytest.raises(ps.ExportError, match="the lowered program takes them"):
            ps.export(Entropies(), methods, backend="portable")
