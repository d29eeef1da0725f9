"""What tries modules by the hundreds tells programs that are wrong or die from refusals."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from polystate.export.lowering import rewrites
from polystate.export.tracing.decompositions.table import DECOMPOSED
from polystate.export.verification.program_process import ProgramEndedError, ProgramProcess
from tests.end_to_end import operator_samples
from tests.end_to_end.operator_cases import Case
from tests.end_to_end.sweep import CaseTrial, EqualTrial, Group, trials
from tests.end_to_end.trials import DIED, DIFFERENT, EQUAL, REFUSED, Trial, outcome
from tests.support.operator_entries import operator_entries


class Narrow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.narrow_copy(x, -1, 0, 2)


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a = torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v * 3, (x,))
        b = torch.cond(x.sum() > 0, lambda v: v * 4, lambda v: v * 5, (x,))
        return a, b


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x


def tried(model: nn.Module) -> tuple[str, str]:
    return outcome(Trial("", model, {"forward": [(torch.zeros(2, 3),)]}), "portable")


def test_a_program_that_ends_its_process_while_it_is_exported_has_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(DECOMPOSED, torch.ops.aten.narrow_copy.default)
    kind, told = tried(Narrow())
    assert kind == DIED and "SIGABRT in 'narrow_copy'" in told


def test_a_program_that_does_not_end_in_time_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise ProgramEndedError("it has not ended after 30 s")

    monkeypatch.setattr(ProgramProcess, "run", late)
    kind, told = tried(Narrow())
    assert kind == DIED and "not ended after 30 s" in told


def test_a_program_that_an_export_finds_to_be_wrong_is_different(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = [each for each in rewrites.REWRITES if each.run.__name__ != "copy_branch_results"]
    monkeypatch.setattr(rewrites, "REWRITES", left)
    kind, told = tried(Chosen())
    assert kind == DIFFERENT and "output 0 of the lowered program differs" in told


def test_what_no_program_is_made_of_is_refused_and_other_errors_of_an_engine_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert tried(Narrow()) == (EQUAL, "")
    kind, told = tried(Branching())
    assert kind == REFUSED and told.startswith("ExportError")

    def fails(*_: object) -> None:
        raise ps.EngineError("a kernel gives a typed error")

    monkeypatch.setattr(ProgramProcess, "run", fails)
    kind, told = tried(Narrow())
    assert kind == REFUSED and "a kernel gives a typed error" in told


@pytest.mark.parametrize("name", ["bitwise_xor", "gcd", "bitwise_left_shift"])
def test_operators_of_integers_alone_have_samples(name: str) -> None:
    (info,) = (each for each in operator_entries() if each.formatted_name == name)
    trial = operator_samples._trial(info, 0, operator_samples.SampledInPlace)
    assert trial is not None
    assert trial.model.value.dtype == torch.int64
    assert outcome(trial, "portable") == (EQUAL, "")


def group_of(*names: str) -> Group:
    found = dict(trials(["int64", "float32"], calls=2))
    return Group({name: found[name] for name in names}, "portable")


def test_of_cases_that_are_tried_together_each_one_is_told() -> None:
    group = group_of("neg float32", "bincount int64", "bernoulli float32")
    assert group.trial("neg float32") == EqualTrial("neg float32")
    refused = group.trial("bincount int64")
    assert isinstance(refused, CaseTrial) and refused.outcome("portable")[0] == REFUSED
    assert group.trial("bernoulli float32") is None  # it draws numbers


def test_a_wrong_result_among_cases_that_are_tried_together_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = group_of("neg float32", "mul float32", "sum float32")
    assert group.trial("mul float32") == EqualTrial("mul float32")
    group = group_of("neg float32", "mul float32", "sum float32")
    compared = Case.expected

    def otherwise(case: Case, *args: object) -> list[Tensor]:
        results = compared(case, *args)  # type: ignore[arg-type]
        return [each + 1 for each in results] if case.operator == "mul" else results

    monkeypatch.setattr(Case, "expected", otherwise)
    wrong = group.trial("mul float32")
    assert isinstance(wrong, CaseTrial) and wrong.outcome("portable")[0] == DIFFERENT
    assert group.trial("sum float32") == EqualTrial("sum float32")
