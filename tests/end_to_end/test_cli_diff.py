"""``polystate diff``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import polystate
from tests.support.altered_artifacts import change_manifest
from tests.support.exported_models import kept


class Scaled(nn.Module):
    """Weights, a state, and one method or two."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.register_buffer("factors", torch.full((2, 3), factor, dtype=torch.float32))
        self.register_buffer("total", torch.zeros(3))

    def add(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_((x * self.factors).sum(0))
        return self.total + 1

    def read(self) -> torch.Tensor:
        return self.total.clone()


def _export(out: Path, factor: float, names: tuple[str, ...]) -> None:
    methods = {"add": ps.Method("add", (torch.ones(2, 3),)), "read": ps.Method("read")}
    ps.export(Scaled(factor), {name: methods[name] for name in names}, backend="portable").save(
        out / "scaled"
    )


def scaled(factor: float, *names: str) -> Path:
    return kept(_export, factor, names) / "scaled"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("diff"))


def differences(before: Path, after: Path) -> list[dict[str, Any]]:
    done = polystate("diff", before, after, "--json")
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    answer = json.loads(done.stdout)
    assert list(answer) == ["equal", "differences"]
    assert answer["equal"] == (done.returncode == 0) == (answer["differences"] == [])
    assert done.returncode in {0, 6}
    found: list[dict[str, Any]] = answer["differences"]
    return found


def of_section(found: list[dict[str, Any]], section: str) -> dict[str, tuple[Any, Any]]:
    return {
        entry["name"]: (entry["before"], entry["after"])
        for entry in found
        if entry["section"] == section
    }


def changed(toy: Path, folder: Path, change: Any) -> Path:
    copied = Path(shutil.copytree(toy, folder / "changed"))
    change_manifest(copied, change)
    return copied


def test_an_artifact_equals_its_copy(toy: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(toy, tmp_path / "copy")
    assert differences(toy, copied) == []
    done = polystate("diff", toy, copied)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_methods_operators_and_weights_that_changed_are_told() -> None:
    found = differences(scaled(2, "add"), scaled(3, "add", "read"))
    assert of_section(found, "Methods") == {"read": (None, "a method")}
    # What the new method has is not told again.
    assert of_section(found, "Signatures") == {}
    assert of_section(found, "Operators") == {}
    weights = of_section(found, "Weights")
    assert len(weights) == 2
    assert sorted((before is None, after is None) for before, after in weights.values()) == [
        (False, True),
        (True, False),
    ]
    assert all(name.startswith("float32 [2, 3] of ") for name in weights)
    assert "model.pte" in of_section(found, "Files")


def test_a_change_has_what_was_and_what_is(toy: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["constants"] |= {"max_length": 32, "new": 1}
        del manifest["constants"]["fast"]
        step = manifest["methods"][0]
        assert step["name"] == "step"
        step["symbols"][0]["max"] = 3
        step["atomic"] = not step["atomic"]

    found = differences(toy, changed(toy, tmp_path, change))
    assert of_section(found, "Constants") == {
        "fast": ("true", None),
        "max_length": ("64", "32"),
        "new": (None, "1"),
    }
    assert of_section(found, "Contract") == {"step, size rows": ("rows 1..4", "rows 1..3")}
    signatures = of_section(found, "Signatures")
    assert "step, after a failure" in signatures
    assert signatures["step, input 0"] == (
        "x: float32 [rows 1..4, 3]",
        "x: float32 [rows 1..3, 3]",
    )
    assert of_section(found, "Operators") == of_section(found, "Weights") == {}
    assert set(of_section(found, "Files")) == {"manifest.json", "SHA256SUMS"}


def test_the_table_marks_what_came_went_and_changed(toy: Path, tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["constants"] |= {"max_length": 32, "new": "\u202e"}
        del manifest["constants"]["fast"]

    done = polystate("diff", toy, changed(toy, tmp_path, change))
    assert (done.returncode, done.stderr) == (6, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["Constants"] in lines
    assert ["-", "fast", "true"] in lines
    assert ["~", "max_length", "64"] in lines
    assert ["->", "32"] in lines
    assert ["+", "new", '"\\xe2\\x80\\xae"'] in lines
    assert "Weights" not in done.stdout


def test_an_artifact_that_cannot_be_read_is_told(toy: Path, tmp_path: Path) -> None:
    done = polystate("diff", toy, tmp_path / "none")
    assert (done.returncode, done.stdout) == (3, "")
    assert polystate("diff", toy).returncode == 2
