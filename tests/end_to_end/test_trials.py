"""What tries modules by the hundreds tells programs that are wrong or die from refusals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from polystate.export.lowering import rewrites
from polystate.export.tracing.decompositions.table import DECOMPOSED
from polystate.export.verification.program_process import ProgramEndedError, ProgramProcess
from tests.end_to_end import operator_samples
from tests.end_to_end.operator_cases import Case
from tests.end_to_end.sweep import CaseTrial, DynamicTrial, EqualTrial, Groups, trials
from tests.end_to_end.trials import (
    DIED,
    DIFFERENT,
    EQUAL,
    LEFT_OUT,
    REFUSED,
    Trial,
    Tried,
    outcome,
)
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


def test_a_process_ends_where_a_trial_takes_too_long() -> None:
    script = "; ".join(
        [
            "import time",
            "from tests.end_to_end import trials",
            "trials._LONGEST = 1",
            "made = trials._in_time(time.sleep(each) or each for each in (0.6, 0.6, 3))",
            "[print(each, flush=True) or time.sleep(each) for each in made]",
        ]
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == -signal.SIGALRM
    assert done.stdout == "0.6\n0.6\n"


def together(tmp_path: Path, *names: str) -> dict[str, Tried | None]:
    found = dict(trials(["int64", "float32"], calls=2))
    tmp_path.mkdir(exist_ok=True)
    groups = Groups("portable", 3, tmp_path / "written")
    return {name: make() for name, make in groups.trials([(name, found[name]) for name in names])}


def test_of_cases_that_are_tried_together_each_one_is_told(tmp_path: Path) -> None:
    made = together(tmp_path, "neg float32", "bincount int64", "bernoulli float32")
    assert made["neg float32"] == EqualTrial("neg float32")
    refused = made["bincount int64"]
    assert isinstance(refused, CaseTrial) and refused.outcome("portable")[0] == REFUSED
    assert made["bernoulli float32"] is None  # it draws numbers


def test_a_wrong_result_among_cases_that_are_tried_together_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("neg float32", "mul float32", "sum float32")
    assert together(tmp_path / "right", *names)["mul float32"] == EqualTrial("mul float32")
    expected = Case.expected

    def otherwise(case: Case, *args: Any) -> list[Tensor]:
        results = expected(case, *args)
        return [each + 1 for each in results] if case.operator == "mul" else results

    monkeypatch.setattr(Case, "expected", otherwise)
    made = together(tmp_path, *names)
    wrong = made["mul float32"]
    assert isinstance(wrong, CaseTrial) and wrong.outcome("portable")[0] == DIFFERENT
    assert made["sum float32"] == EqualTrial("sum float32")


def test_cases_of_a_group_that_ended_the_process_are_tried_alone(tmp_path: Path) -> None:
    (tmp_path / "written").write_text("mul float32\n")
    made = together(tmp_path, "neg float32", "mul float32")
    assert list(made) == ["mul float32", "neg float32"]
    assert isinstance(made["mul float32"], CaseTrial)
    assert made["neg float32"] == EqualTrial("neg float32")
    assert (tmp_path / "written").read_text() == "mul float32\nneg float32\n"


def _case(operator: str) -> Case:
    entries = {entry.formatted_name: entry for entry in operator_entries()}
    return Case(operator, "float32", entries[operator])


@pytest.mark.parametrize(
    ("operator", "is_of_values"), [("resize_", False), ("add", True), ("transpose", True)]
)
def test_a_call_that_depends_on_the_layout_of_memory_is_left_out(
    operator: str, is_of_values: bool
) -> None:
    kinds = {sample.kind for sample in _case(operator).samples()}
    assert "sample" in kinds and ("not row by row" in kinds) == is_of_values


def test_larger_samples_have_independent_rows() -> None:
    for operator, size in (("linalg_inv", 10), ("linalg_lu", 6)):
        case = _case(operator)
        trial = DynamicTrial.of(case, case.plain_samples())
        assert trial is not None and size == 2 * trial.size
        (matrix,) = trial.sample_at(size).tensors
        assert matrix.shape[0] == size
        assert torch.linalg.matrix_rank(matrix) == min(matrix.shape)
        assert torch.linalg.cond(matrix) < 1000


def test_a_case_of_which_pytorch_takes_no_size_is_not_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = _case("add")
    trial = DynamicTrial.of(case, case.plain_samples())
    assert trial is not None
    assert trial.outcome("portable")[0] == EQUAL

    def refuse(*_: object) -> None:
        raise RuntimeError("no such size")

    monkeypatch.setattr(Case, "expected", refuse)
    assert trial.outcome("portable") == (LEFT_OUT, "PyTorch refuses both sizes")
