"""A finished program is tried in a process of its own, whatever it does there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from polystate.export.tracing.decompositions.table import DECOMPOSED
from polystate.export.verification import program_process, workers
from polystate.export.verification.program_process import ProgramProcess
from polystate.export.verification.twins import EndedProgramError


class Narrow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.narrow_copy(x, -1, 0, 2)


def export(model: nn.Module, x: Tensor, backend: str = "portable") -> ps.Program:
    return ps.export(model, {"forward": ps.Method("forward", (x,))}, backend=backend)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_a_program_that_ends_its_process_is_an_export_error_with_operator_and_signal(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.delitem(DECOMPOSED, torch.ops.aten.narrow_copy.default)
    with pytest.raises(EndedProgramError, match=r"method 'forward' .* SIGABRT in 'narrow_copy'"):
        export(Narrow(), torch.zeros(2, 3), backend)


class Half(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.5, -2.0], dtype=torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        x.mul_(2)
        return self.total + x


def test_values_of_every_kind_go_there_and_back(tmp_path: Path) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    x = torch.tensor([0.25, 3.0], dtype=torch.bfloat16)
    with ProgramProcess(artifact) as program:
        (output,), (after,) = program.run("forward", [x])
        assert x.tolist() == [0.25, 3.0]
        assert after.tolist() == [0.5, 6.0]
        assert program.state()["total"].tolist() == [1.75, 1.0]
        assert output.dtype == torch.bfloat16
        assert output.tolist() == [2.25, 7.0]
        program.reset()
        assert program.state()["total"].tolist() == [1.5, -2.0]
        program.set_state({"total": torch.zeros(2, dtype=torch.bfloat16)})
        assert program.state()["total"].tolist() == [0.0, 0.0]
        with pytest.raises(ps.ContractError, match="forward"):
            program.run("forward", [torch.zeros(3, dtype=torch.bfloat16)])
        with pytest.raises(ps.ContractError, match="float32"):
            program.run("forward", [torch.zeros(2)])


def test_what_is_no_artifact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ps.IoError):
        ProgramProcess(tmp_path / "nothing")


class Seen:
    """What the process that unpickles it sees, as numbers of a state."""

    def __reduce__(self) -> Any:
        return eval, (
            "__import__('numpy').array(['torch' in (m := __import__('sys').modules), "
            "'polystate.runtime.session' in m], dtype='float32')",
        )


class Single(Half):
    def __init__(self) -> None:
        super().__init__()
        self.total = torch.tensor([1.5, -2.0])


def test_the_process_of_a_program_has_no_torch(tmp_path: Path) -> None:
    artifact = export(Single(), torch.zeros(2)).save(tmp_path / "artifact")
    with ProgramProcess(artifact) as program:
        program.run("forward", [torch.zeros(2)])
        program._ask("set_state", 10, {"total": Seen()})
        assert program.state()["total"].tolist() == [0.0, 1.0]
        assert "libtorch" not in Path(f"/proc/{program._process.pid}/maps").read_text()


def test_a_program_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    with ProgramProcess(artifact) as program:
        monkeypatch.setattr(program_process, "_SECONDS", 0.2)
        os.kill(program._process.pid, signal.SIGSTOP)
        with pytest.raises(ps.EngineError, match=r"not ended after 0\.2 s"):
            program.run("forward", [torch.zeros(2, dtype=torch.bfloat16)])


def test_workers_are_forked_from_one_process_and_from_another_where_that_was_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    monkeypatch.chdir(tmp_path)
    with ProgramProcess(artifact.relative_to(tmp_path)) as program:
        first = workers._servers._current()._process
        with ProgramProcess(artifact):
            assert workers._servers._current()._process is first
        first.kill()
        first.wait()
        with ProgramProcess(artifact) as other:
            assert workers._servers._current()._process.pid != first.pid
            assert other.state()["total"].tolist() == [1.5, -2.0]
        assert program.state()["total"].tolist() == [1.5, -2.0]


def test_a_worker_has_the_environment_of_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    monkeypatch.setenv("POLYSTATE_INSTRUCTION_SET", "none of them")
    with pytest.raises(ps.Error, match="none of them"):
        ProgramProcess(artifact)


def test_a_worker_ends_with_its_program_and_an_interrupt_is_its_callers(tmp_path: Path) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    with ProgramProcess(artifact) as program:
        pid = program._process.pid
        os.kill(pid, signal.SIGINT)
        program.reset()
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def test_a_forked_process_has_workers_of_its_own(tmp_path: Path) -> None:
    artifact = export(Half(), torch.zeros(2, dtype=torch.bfloat16)).save(tmp_path / "artifact")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with ProgramProcess(artifact) as program:
                status = int(program.state()["total"].tolist() != [1.5, -2.0])
            workers._servers.close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    with ProgramProcess(artifact) as program:
        assert program.state()["total"].tolist() == [1.5, -2.0]
