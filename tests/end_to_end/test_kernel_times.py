"""What the kernels of AOTInductor's machine code take, for an artifact that was exported for it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.errors import UnsupportedError
from polystate.export.program import Program
from tests.end_to_end.command_line import polystate
from tests.support.exported_models import kept


class Meter(nn.Module):
    """Loops, a product, a branch, and a state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.register_buffer("level", torch.zeros(64))

    def step(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.linear(x.sin() + (0.0 if ")" else len(')"'))))
        self.level.mul_(0.5).add_(y.mean(0))
        return y @ y.t()

    def choose(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda v: v.exp().sum(0), lambda v: v.cos().sum(0), (x,))


def _export(profile: bool) -> Program:
    torch.manual_seed(0)
    x = torch.randn(32, 64)
    methods = {name: ps.Method(name, (x,)) for name in ("step", "choose")}
    return ps.export(Meter(), methods, backend="aoti", profile=profile)


def recorded(folder: Path) -> None:
    _export(profile=True).save(folder / "artifact")


def unrecorded(folder: Path) -> None:
    _export(profile=False).save(folder / "artifact")


@pytest.fixture(scope="module")
def artifact() -> Path:
    return kept(recorded, backend="aoti") / "artifact"


@pytest.fixture(scope="module")
def without() -> Path:
    return kept(unrecorded, backend="aoti") / "artifact"


def test_a_session_gives_a_trace_of_the_kernels_of_its_calls(artifact: Path) -> None:
    session = ps.load(artifact, trust_code=True).session(profile=True)
    x = torch.randn(32, 64)
    session.run("step", x)
    session.run("choose", x)
    events = json.loads(session.take_profile())["traceEvents"]
    methods = [event for event in events if event["cat"] == "method"]
    assert [event["name"] for event in methods] == ["step", "choose"]
    for event in methods:
        inside = [e for e in events if e["cat"] == "kernel" and _within(e, event)]
        assert any(e["name"].find("cpp_fused") >= 0 for e in inside), event["name"]
        assert 0 < sum(e["dur"] for e in inside) <= event["dur"]
    assert any("mm" in event["name"] for event in events)
    assert session.take_profile() == b""


def test_a_session_that_does_not_profile_computes_the_same(artifact: Path, without: Path) -> None:
    x = torch.randn(32, 64)
    results = [
        ps.load(place, trust_code=True).session(profile=profile).run("step", x)[0]
        for place, profile in ((artifact, True), (artifact, False), (without, False))
    ]
    for result in results[1:]:
        assert torch.equal(result, results[0])


def test_machine_code_that_says_nothing_of_its_kernels_is_refused(without: Path) -> None:
    with pytest.raises(UnsupportedError, match="profile=True"):
        ps.load(without, trust_code=True).session(profile=True)
    done = polystate("run", without, "step", "--trust-code", "--times", *_input())
    assert done.returncode == 5, done.stderr
    assert "--profile" in done.stderr


def test_the_command_tells_times_and_draws_them(artifact: Path, tmp_path: Path) -> None:
    call = ["run", artifact, "step", *_input(), "--trust-code", "--call", "choose", *_input()]
    done = polystate(*call, "--times", "--json", "--profile", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    times = json.loads(done.stdout)["times"]
    assert times[-1]["name"] == "outside of operators"
    assert times[-1]["calls"] == 2
    assert len(times) > 3
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) > 3
    flame = tmp_path / "flame.svg"
    done = polystate(*call, "--flame", flame)
    assert done.returncode == 0, done.stderr
    titles = [
        title.text or ""
        for title in ElementTree.parse(flame).getroot().iter("{http://www.w3.org/2000/svg}title")
    ]
    assert any(title.startswith("1: step\n") for title in titles)
    assert any(title.startswith(times[0]["name"] + "\n") for title in titles)


def _within(inner: dict[str, float], outer: dict[str, float]) -> bool:
    ends = [event["ts"] + event["dur"] for event in (inner, outer)]
    return outer["ts"] <= inner["ts"] and ends[0] <= ends[1] + 1e-3


def _input() -> list[str]:
    return ["--input", f"x={torch.ones(32, 64).tolist()}"]
