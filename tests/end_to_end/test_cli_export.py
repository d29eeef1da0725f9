"""``polystate-export``."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command_line import polystate, polystate_export

MODEL = """
import ctypes
import os
import subprocess
import torch
import polystate as ps
from neighbour import SCALE

class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def add(self, x):
        self.total += x * SCALE
        return self.total.clone()

def make():
    return Counter(), {"add": ps.Method("add", args=(torch.ones(2),))}

class Noisy(Counter):
    def add(self, x):
        print("noise of a method")
        os.write(1, b"noise of a descriptor\\n")
        ctypes.CDLL(None).puts(b"noise of C")
        return super().add(x)

def noisy():
    print("noise of a function")
    subprocess.run(["echo", "noise of a process"])
    return Noisy(), {"add": ps.Method("add", args=(torch.ones(2),))}

def exported():
    return ps.export(*make(), backend="portable")

def wrong():
    return "no module"

def broken():
    raise RuntimeError("the weights are gone")

class Factory:
    make = staticmethod(make)

class Parameter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    @torch.no_grad()
    def add(self, x):
        self.weight += x
        return self.weight.clone()

def unsound():
    return Parameter(), {"add": ps.Method("add", args=(torch.ones(2),))}

def double():
    linear = torch.nn.Linear(2, 2, dtype=torch.float64)
    return linear, {"forward": ps.Method("forward", args=(torch.ones(1, 2).double(),))}

number = 3
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("SCALE = 3\n")
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def inspected(artifact: Path) -> dict[str, object]:
    done = polystate("inspect", artifact, "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def test_a_function_of_a_file_is_exported_with_what_lies_beside_it(
    model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = polystate_export(f"{model}:make", out)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    ran = polystate("run", out, "add", "--input", "x=[1,2]")
    assert ran.stdout == "0: float32 [2]\n[3, 6]\n"


def test_progress_is_silent_where_stderr_is_no_terminal(model: Path, tmp_path: Path) -> None:
    done = polystate_export(f"{model}:make", tmp_path / "out")
    assert "exporting" not in done.stderr


def test_a_terminal_shows_each_step_of_an_export_with_its_time(model: Path, tmp_path: Path) -> None:
    reader, terminal = pty.openpty()
    done = polystate_export(f"{model}:make", tmp_path / "out", stderr=terminal)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(reader, 4096):
            shown += piece
    os.close(reader)
    assert done.returncode == 0
    lines = re.sub(r"\d+\.\d s", "N s", shown.decode()).splitlines()
    begin = lines.index("exporting 1 methods of Counter ... ")
    assert lines[begin + 1 : begin + 7] == [
        "  tracing 'add', and comparing the graph with the module ... N s",
        "  finding state ... N s",
        "  making the contract ... N s",
        "  lowering for xnnpack ... N s",
        "  running the program beside the module ... N s",
        "exporting 1 methods of Counter: done in N s",
    ]


def test_a_function_of_a_module_is_found_from_the_current_directory(
    model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = polystate_export("model:Factory.make", out, cwd=model.parent)
    assert done.returncode == 0, done.stderr
    assert polystate("doctor", out).returncode == 0


def test_options_reach_the_export(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = polystate_export(
        f"{model}:noisy", out,
        "--backend", "portable",
        "--constant", "max_length=64", "--constant", "name=a b", "--constant", "fast=true",
        "--debug-dir", tmp_path / "debug",
        "--report",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "total" in done.stdout
    assert "noise" not in done.stdout
    kinds = ("a function", "a process", "a method", "a descriptor", "C")
    assert all(f"noise of {kind}\n" in done.stderr for kind in kinds)
    report = inspected(out)
    assert report["constants"] == {"fast": True, "max_length": 64, "name": "a b"}
    assert any((tmp_path / "debug").iterdir())


def test_a_program_that_was_exported_already_is_saved_as_it_is(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert polystate_export(f"{model}:exported", out).returncode == 0
    assert "program" in inspected(out)
    options = ["--backend", "xnnpack", "--constant", "a=1"]
    done = polystate_export(f"{model}:exported", tmp_path / "other", *options)
    assert done.returncode == 2
    assert "--backend, --constant comes too late" in done.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "source", ["model.py", "some/folder/", "a/b/c", ":make", "a.py:", "a:b:c d"]
)
def test_another_kind_of_source_is_a_usage_error_that_says_what_there_is(
    source: str, tmp_path: Path
) -> None:
    done = polystate_export(source, tmp_path / "out")
    assert done.returncode == 2
    assert "path/to/file.py:function" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["a.py:b"], ["a.py:b", "out", "--backend", "gpu"], ["a.py:b", "out", "--constant", "x"]],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str]) -> None:
    assert polystate_export(*arguments).returncode == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--constant", "a=1", "--constant", "b=1", "--constant", "a=2"], "--constant a"),
        (["--constant", "a=x", "--constant", "a=x"], "--constant a"),
        (["--backend", "portable", "--backend", "xnnpack"], "--backend"),
        (["--quantization", "q8", "--quantization", "none"], "--quantization"),
        (["--debug-dir", "a", "--debug-dir", "b"], "--debug-dir"),
    ],
)
def test_what_is_given_twice_is_a_usage_error(options: list[str], message: str) -> None:
    done = polystate_export("a.py:b", "out", *options)
    assert done.returncode == 2
    assert f"{message} is given twice" in done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{model}:nothing", "defines no 'nothing'"),
        ("{model}:number", "is no function"),
        ("{model}:wrong", "returned str"),
        ("no_such_module_of_ours:make", "there is no module 'no_such_module_of_ours'"),
        ("no_such_file.py:make", "there is no file 'no_such_file.py'"),
    ],
)
def test_a_source_that_is_not_there_or_gives_something_else_is_a_bad_input(
    source: str, message: str, model: Path, tmp_path: Path
) -> None:
    done = polystate_export(source.format(model=model), tmp_path / "out")
    assert done.returncode == 4
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_where_the_users_code_fails_its_own_lines_are_shown(model: Path, tmp_path: Path) -> None:
    done = polystate_export(f"{model}:broken", tmp_path / "out")
    assert done.returncode == 4
    assert "the weights are gone" in done.stderr
    assert "in broken" in done.stderr
    assert "polystate/cli" not in done.stderr


def test_what_is_unsound_is_refused_and_the_culprit_named(model: Path, tmp_path: Path) -> None:
    done = polystate_export(f"{model}:unsound", tmp_path / "out")
    assert done.returncode == 4
    assert "parameter 'weight'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_the_backend_cannot_do_is_an_engine_error(model: Path, tmp_path: Path) -> None:
    done = polystate_export(f"{model}:double", tmp_path / "out", "--quantization", "q8")
    assert done.returncode == 5


def test_something_else_is_not_replaced_and_no_work_is_done_for_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    done = polystate_export("no_such_file.py:make", tmp_path)
    assert done.returncode == 3
    assert (tmp_path / "notes.txt").read_text() == "keep"


def test_the_report_on_a_full_disk_is_an_error(model: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = polystate_export(f"{model}:make", tmp_path / "out", "--report", stdout=full)
    assert done.returncode == 1
    reader, writer = os.pipe()
    os.close(reader)
    done = polystate_export(f"{model}:make", tmp_path / "out", "--report", stdout=writer)
    os.close(writer)
    assert done.returncode == 0, done.stderr


def test_help_and_version_fit_and_name_the_command() -> None:
    done = polystate_export("--help")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert polystate_export("--version").stdout.startswith("polystate-export ")


def test_a_usage_error_does_not_wait_for_torch() -> None:
    script = """
import sys
from polystate.cli.export import main
assert main(["a/b/c", "out"]) == 2
assert main(["org/name", "out", "--constant", "a=1"]) == 2
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
