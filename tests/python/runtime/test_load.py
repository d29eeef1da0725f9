from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import polystate as ps
from polystate import _core
from tests.python.runtime.runtime_support import RunPython


def test_a_model_describes_its_methods(model: ps.Model) -> None:
    assert list(model.methods) == [
        "add", "get", "count", "subtract", "double", "rescale", "work",
    ]  # fmt: skip
    assert str(model.methods["get"]) == "get() -> (float32[4])"
    assert str(model.methods["add"]) == "add(x: float32[rows, 4]) -> (float32[4])"
    assert str(model.methods["count"]) == "count(by: int64[]) -> ()"
    assert [symbol.max for symbol in model.methods["add"].symbols] == [8]
    assert repr(model).endswith("toy': add, get, count, subtract, double, rescale, work>")


def test_a_model_describes_its_state_and_constants(model: ps.Model) -> None:
    assert {name: (s.dtype, s.shape, s.initial) for name, s in model.state.items()} == {
        "total": ("float32", [4], "stored"),
        "calls": ("int64", [], "zeros"),
        "scale": ("bfloat16", [2], "stored"),
        "matrix": ("float32", [192, 192], "stored"),
    }
    assert dict(model.constants) == {"max_length": 64, "name": "toy"}
    assert model.state_bytes >= 16 + 8 + 4 + 192 * 192 * 4
    assert model.activation_bytes > 0


def test_the_manifest_is_given_as_a_copy_of_plain_data(model: ps.Model, toy: Path) -> None:
    assert model.manifest == json.loads((toy / "manifest.json").read_text())
    model.manifest["methods"].clear()
    assert model.manifest["methods"]


def test_an_exported_manifest_is_valid_by_the_schema(model: ps.Model, echo: Path) -> None:
    text = importlib.resources.files("polystate.artifact").joinpath("schema.json").read_text()
    for manifest in (model.manifest, ps.load(echo).manifest):
        jsonschema.validate(manifest, json.loads(text))


def test_what_a_model_describes_cannot_be_changed(model: ps.Model) -> None:
    with pytest.raises(TypeError):
        model.constants["max_length"] = 128  # type: ignore[index]
    with pytest.raises(TypeError):
        del model.methods["add"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_path_may_be_a_string(toy: Path, as_path: type) -> None:
    assert "add" in ps.load(as_path(toy)).methods


def test_a_missing_artifact_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ps.Error, match="absent"):
        ps.load(tmp_path / "absent")


@pytest.mark.parametrize("name", ["model.pte", "manifest.json", "SHA256SUMS"])
def test_a_changed_byte_is_an_artifact_error(toy: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(toy, tmp_path / "a")
    damaged = bytearray((tmp_path / "a" / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "a" / name).write_bytes(damaged)
    with pytest.raises(ps.ArtifactError):
        ps.load(tmp_path / "a")


def test_a_name_that_is_not_utf8_can_be_reported(tmp_path: Path) -> None:
    with pytest.raises(ps.Error, match=r"\\xff|\udcff"):
        ps.load(tmp_path / "\udcff")


def test_a_path_with_a_zero_byte_is_refused(toy: Path, model: ps.Model) -> None:
    with pytest.raises(ps.ContractError, match="holds a zero byte"):
        ps.load(f"{toy}\0")
    with pytest.raises(ps.ContractError, match="holds a zero byte"):
        model.session().save(f"{toy}/state\0")


def test_a_model_may_be_pinned_by_its_digest(toy: Path) -> None:
    digest = hashlib.sha256((toy / "SHA256SUMS").read_bytes()).hexdigest()
    assert ps.load(toy, expect_sha256=digest).sha256 == digest
    with pytest.raises(ps.ArtifactError, match=digest):
        ps.load(toy, expect_sha256="0" * 64)


def test_a_trusted_artifact_runs_the_same(toy: Path, model: ps.Model) -> None:
    trusted = ps.load(toy, verification="trusted", trust_code=True)
    x = [[1.0, 2.0, 3.0, 4.0]]
    [expected] = model.session().run("add", x)
    assert trusted.session().run("add", x)[0].tolist() == expected.tolist() == [2, 4, 6, 8]


THREADS = """
import sys
import polystate as ps
for threads in (1, 3, 2):
    model = ps.load(sys.argv[1], threads=threads)
session = model.session()
ps.load(sys.argv[1], threads=2)
try:
    ps.load(sys.argv[1], threads=3)
except ps.EngineError as error:
    print(error)
del session
ps.load(sys.argv[1], threads=3)
"""


def test_the_number_of_threads_stays_while_sessions_use_them(
    toy: Path, run_python: RunPython
) -> None:
    assert run_python(THREADS, toy) == (
        "the engine's pool, which the whole process shares, has 2 threads and is in use "
        "(sessions: 1): close them before it gets 3\n"
    )


@pytest.mark.parametrize(
    "option",
    [
        {"verification": "none"},
        {"threads": 0},
        {"threads": -1},
        {"threads": 1025},
        {"threads": 2**32},
        {"expect_sha256": ""},
    ],
)
def test_an_option_out_of_range_is_refused_with_its_value(toy: Path, option: Any) -> None:
    [(name, value)] = option.items()
    with pytest.raises(ps.ContractError, match=rf"{name} is ['\"]?{value}['\"]?[:;] "):
        ps.load(toy, **option)


@pytest.mark.parametrize(
    "option",
    [
        {"threads": 2**63},
        {"threads": True},
        {"threads": 1.5},
        {"threads": "4"},
        {"expect_sha256": 5},
        {"expect_sha256": "\ud800"},
    ],
)
def test_an_option_of_another_kind_is_refused_with_its_value(toy: Path, option: Any) -> None:
    [(name, value)] = option.items()
    with pytest.raises(ps.ContractError, match=f"{name} is {re.escape(repr(value))}: "):
        ps.load(toy, **option)


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ps.ContractError, match="is no name of a file"):
        ps.load("\ud800")


def test_a_model_describes_itself_from_the_bytes_that_were_verified(
    toy: Path, echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(toy, tmp_path / "a")
    real_load = _core.load

    def load_before_it_is_replaced(*arguments: Any) -> _core.Model:
        loaded = real_load(*arguments)
        shutil.copy(echo / "manifest.json", tmp_path / "a")
        return loaded

    monkeypatch.setattr(_core, "load", load_before_it_is_replaced)
    assert ps.load(tmp_path / "a").manifest == json.loads((toy / "manifest.json").read_text())


def test_a_model_outlives_its_files(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "a")
    loaded = ps.load(tmp_path / "a")
    shutil.rmtree(tmp_path / "a")
    assert loaded.session().run("get")[0].tolist() == [1, 2, 3, 4]
    assert loaded.manifest["methods"]
