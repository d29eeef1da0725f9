"""``polystate inspect``."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.support.altered_artifacts import change_manifest, digest_of


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def report(toy: Path) -> dict[str, Any]:
    done = polystate("inspect", toy, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (entry,) = [entry for entry in entries if entry["name"] == name]
    return entry


def test_the_json_has_the_keys_that_the_documentation_lists(report: dict[str, Any]) -> None:
    assert list(report) == [
        "directory",
        "sha256",
        "format_version",
        "versions",
        "program",
        "methods",
        "state",
        "constants",
        "memory",
        "files",
    ]
    documentation = (Path(__file__).parents[2] / "docs/command_line.md").read_text()

    def check(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                assert f"`{key}`" in documentation, key
                if key not in {"versions", "constants", "files"}:  # whose keys are names
                    check(inner)
        elif isinstance(value, list):
            for inner in value:
                check(inner)

    check(report)


def test_inputs_have_their_dtypes_ranges_and_limits(report: dict[str, Any]) -> None:
    step = named(report["methods"], "step")
    assert [symbol | {"name": ""} for symbol in step["symbols"]] == [
        {"name": "", "input": "x", "dimension": 0, "min": 1, "max": 4}
    ]
    x, position = step["inputs"]
    assert (x["name"], x["dtype"], x["shape"]) == ("x", "float32", ["rows", 3])
    assert (position["name"], position["dtype"], position["shape"]) == ("position", "int64", [1])
    assert [(limit["min"], limit["max"]) for limit in position["values"]] == [(0, 3)]


def test_effects_are_told_with_their_reasons(report: dict[str, Any]) -> None:
    step = named(report["methods"], "step")
    assert sorted(write["state"] for write in step["writes"]) == ["count", "log"]
    assert all(write["reason"] for write in step["writes"])
    assert named(report["methods"], "read")["reads"] == ["log"]
    (data,) = named(report["methods"], "double")["inputs"]
    assert data["written"]


def test_state_has_sizes_and_initial_values(report: dict[str, Any]) -> None:
    log = named(report["state"], "log")
    assert (log["shape"], log["bytes"], log["initial"]) == ([4, 3], 48, "zeros")
    count = named(report["state"], "count")
    assert (count["dtype"], count["bytes"], count["initial"]) == ("int64", 8, "stored")
    assert "2" in count["preview"]


def test_memory_is_the_sum_of_states_and_the_largest_of_activations(
    report: dict[str, Any],
) -> None:
    memory = report["memory"]
    assert memory["program_bytes"] == report["files"]["model.pte"]
    assert memory["state_bytes"] == 56
    largest = max(method["activation_bytes"] for method in report["methods"])
    assert memory["activation_bytes"] == largest
    assert memory["session_bytes"] == 56 + largest


def test_files_have_the_sizes_that_they_have_on_disk(report: dict[str, Any], toy: Path) -> None:
    assert report["files"] == {path.name: path.stat().st_size for path in toy.iterdir()}


def test_constants_keep_their_types(report: dict[str, Any], toy: Path) -> None:
    assert report["constants"] == {"fast": True, "max_length": 64, "name": "toy", "ratio": 0.5}
    assert report["sha256"] == digest_of(toy)


def test_the_table_fits_and_says_the_same(toy: Path) -> None:
    done = polystate("inspect", toy)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in done.stdout
    for text in [
        "float32 [rows 1..4, 3]",
        "values 0 .. 3",
        "Method odd_values",
        "starts as zeros",
        'name        "toy"',
        digest_of(toy),
        "golden.npz",
    ]:
        assert text in done.stdout, text


def test_text_in_any_script_is_shown_and_marks_that_reverse_it_are_escaped(
    toy: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "toy"
    subprocess.run(["cp", "-r", toy, copied], check=True)
    change_manifest(copied, lambda manifest: manifest["constants"].update({"text": "长\u202e"}))
    done = polystate("inspect", copied)
    assert done.returncode == 0
    assert '"长\\xe2\\x80\\xae"' in done.stdout


def test_headings_are_bold_on_a_terminal_unless_the_user_asks_for_no_colour(toy: Path) -> None:
    assert "\x1b[1mState\x1b[0m" in on_terminal(toy, {})
    assert "\x1b[" not in on_terminal(toy, {"NO_COLOR": "1"})


def on_terminal(artifact: Path, environment: dict[str, str]) -> str:
    terminal, inner = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(
        [POLYSTATE, "inspect", artifact], stdout=inner, env=variables | environment
    ) as process:
        os.close(inner)
        text = b""
        while chunk := read_terminal(terminal):
            text += chunk
        process.wait()
    os.close(terminal)
    return text.decode()


def read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        return b""
