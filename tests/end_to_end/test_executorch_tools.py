"""ExecuTorch's own runtime and Inspector read what an export writes for them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from executorch.devtools import Inspector
from executorch.extension.pybindings import portable_lib
from torch import Tensor, nn

import polystate as ps
from polystate.export.bundle import write_bundled
from tests.end_to_end.command_line import polystate_export
from tests.end_to_end.twins import BACKENDS


class Totals(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def step(self, x: Tensor) -> Tensor:
        self.total.add_(torch.relu(self.linear(x)).exp())
        return self.total.asinh()

    def read(self) -> Tensor:
        return self.total * 2

    def double(self, x: Tensor) -> Tensor:
        return x * 2


def methods() -> dict[str, ps.Method]:
    x = torch.ones(4)
    return {
        "step": ps.Method("step", (x,)),
        "read": ps.Method("read"),
        "double": ps.Method("double", (x,)),
    }


def results_in_executorch(file: Path, method: str, count: int) -> list[Tensor]:
    """What its runtime gives for the recorded calls; RuntimeError where it is something else."""
    bundle = portable_lib._load_bundled_program_from_buffer(file.read_bytes())
    return [
        bundle.verify_result_with_bundled_expected_output(method, number, 1e-4, 1e-5)[0]
        for number in range(count)
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bundled_program_runs_in_executorchs_own_runtime(backend: str, tmp_path: Path) -> None:
    program = ps.export(Totals(), methods(), backend=backend)
    file = program.save_bundled(tmp_path / "totals.bpte")
    assert program.verification is not None
    calls = program.verification.recorded_calls
    for method in ("step", "double"):
        expected = [call.outputs[0] for name, call in calls if name == method]
        found = results_in_executorch(file, method, len(expected))
        assert len(expected) == 2
        for mine, right in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, torch.as_tensor(right), rtol=1e-4, atol=1e-5)


class Moved(nn.Module):
    """What kernels of ours do faster than ExecuTorch's."""

    def forward(self, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        added = x.index_add(0, places, x[places])
        pooled = nn.functional.avg_pool1d(nn.functional.pad(x, (2, 1), mode="reflect"), 2)
        windows = x.unfold(1, 3, 2)
        turned = (x.flip(0), x.roll(3, 1), x.tril(1), x.triu(-1), x.repeat_interleave(2, 1))
        columns = nn.functional.unfold(x.unsqueeze(0), (2, 3), padding=1)
        gathered = x.gather(0, places.unsqueeze(1).expand(2, 5))
        return (
            added,
            x.index_copy(1, places, x[:, :2]),
            pooled,
            windows,
            *turned,
            columns,
            gathered,
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_kernels_that_are_only_faster_are_executorchs_again(backend: str, tmp_path: Path) -> None:
    method = ps.Method("forward", (torch.randn(4, 5), torch.tensor([3, 1])))
    program = ps.export(Moved(), {"forward": method}, backend=backend)
    ours = {name for name in program.manifest.program.operators if "polystate_faster" in name}
    assert {f"polystate_faster::{name}" for name in ("flip.out", "roll.out", "tril.out")} <= ours
    file = program.save_bundled(tmp_path / "moved.bpte")
    assert program.verification is not None
    calls = program.verification.recorded_calls
    assert len(results_in_executorch(file, "forward", len(calls))) == len(calls)


def test_calls_after_another_method_changed_the_state_are_left_out(tmp_path: Path) -> None:
    program = ps.export(Totals(), methods(), backend="portable")
    file = program.save_bundled(tmp_path / "totals.bpte")
    with pytest.raises(RuntimeError, match="0x12"):
        results_in_executorch(file, "read", 1)


def test_the_runtime_compares_with_what_is_recorded(tmp_path: Path) -> None:
    program = ps.export(Totals(), methods(), backend="portable")
    assert program.verification is not None
    changed = [
        (name, dataclasses.replace(call, outputs=[array + 1 for array in call.outputs]))
        for name, call in program.verification.recorded_calls
    ]
    content = program._files[program.manifest.program.file]
    write_bundled(tmp_path / "changed.bpte", program.manifest, content, changed)
    with pytest.raises(RuntimeError):
        results_in_executorch(tmp_path / "changed.bpte", "double", 1)


class Sorted(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.cummax(0).values


@pytest.mark.parametrize(
    ("model", "backend", "told"),
    [
        (Sorted(), "portable", "aten::cummax"),
        (nn.Conv3d(1, 1, 1), "xnnpack", "polystate_aten::convolution"),
        (Sorted(), "aoti", "backend 'aoti' makes none"),
    ],
)
def test_what_that_runtime_cannot_run_is_refused(
    model: nn.Module, backend: str, told: str, tmp_path: Path
) -> None:
    method = ps.Method("forward", (torch.ones(1, 1, 3, 2, 2),))
    program = ps.export(model.eval(), {"forward": method}, backend=backend)
    with pytest.raises(ps.UnsupportedError, match=told):
        program.save_bundled(tmp_path / "sorted.bpte")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_bundled_program(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "import torch, polystate as ps\n"
        "class Double(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x * 2\n"
        "def program():\n"
        "    return Double(), {'forward': ps.Method('forward', (torch.ones(3),))}\n"
    )
    done = polystate_export("made.py:program", "out", "--bundled", "made.bpte", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(results_in_executorch(tmp_path / "made.bpte", "forward", 1)) == 1
    done = polystate_export("some/model", "out", "--bundled", "made.bpte", cwd=tmp_path)
    assert done.returncode == 2 and "--bundled is for functions" in done.stderr


@pytest.mark.filterwarnings("ignore::UserWarning:executorch.devtools")
def test_the_inspector_tells_times_with_lines(tmp_path: Path) -> None:
    folder = tmp_path / "debug"
    program = ps.export(Totals(), methods(), backend="portable", debug_dir=folder)
    session = ps.load(program.save(tmp_path / "artifact")).session(profile=True)
    for _ in range(3):
        session.run("step", torch.ones(4))
    profile = tmp_path / "profile.etdp"
    profile.write_bytes(session.take_profile())
    inspector = Inspector(etdump_path=str(profile), etrecord=str(folder / "step/etrecord.bin"))
    events = [event for block in inspector.event_blocks for event in block.events]
    (arc,) = [event for event in events if event.name == "native_call_asinh.out"]
    assert arc.op_types == ["aten.asinh.default"]
    assert len(arc.perf_data.raw) == 3
    assert "return self.total.asinh()" in " ".join(arc.stack_traces.values())
