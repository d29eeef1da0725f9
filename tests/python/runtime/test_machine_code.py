"""Programs for AOTInductor: the folder that their code is unpacked into, and their threads."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.python.runtime.runtime_support import RunPython
from tests.support.exported_models import kept


class Sum(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def add(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total.clone()


def export_sum(out: Path) -> None:
    methods = {"add": ps.Method("add", (torch.ones(3),))}
    ps.export(Sum(), methods, backend="aoti").save(out / "sum")


@pytest.fixture(scope="module")
def machine_code() -> Path:
    return kept(export_sum, backend="aoti") / "sum"


# Opens an artifact with another folder for temporary files, and prints why it cannot.
OPEN = """
import os, sys
import polystate as ps
os.environ["TMPDIR"] = sys.argv[2]
try:
    model = ps.load(sys.argv[1], trust_code=True)
    print(model.session().run("add", [1.0, 2.0, 3.0])[0].tolist())
except ps.IoError as error:
    print(error)
"""

REMEDY = "; TMPDIR may name another folder, in which files can be written and executed\n"


def test_a_folder_that_cannot_be_written_is_named(
    machine_code: Path, run_python: RunPython
) -> None:
    said = run_python(OPEN, machine_code, "/proc")
    assert said.startswith("machine code cannot be unpacked into '/proc': ")
    assert said.endswith(REMEDY)


def test_a_folder_whose_files_cannot_be_executed_is_named(
    machine_code: Path, run_python: RunPython
) -> None:
    folder = "/dev/shm"
    if not os.access(folder, os.W_OK) or not os.statvfs(folder).f_flag & os.ST_NOEXEC:
        pytest.skip("no folder here is mounted so")
    said = run_python(OPEN, machine_code, folder)
    assert said.startswith(f"machine code in '{folder}/.polystate-library-")
    assert "/add.so' cannot be executed: " in said
    assert said.endswith(REMEDY)


def test_what_a_killed_process_left_is_removed_after_an_hour_and_what_others_use_stays(
    machine_code: Path, run_python: RunPython, tmp_path: Path
) -> None:
    old = (".polystate-library-killed", ".polystate-library-in_use", "polystate-models")
    young = ".polystate-library-recent"
    for name in (*old, young):
        (tmp_path / name).mkdir()
        (tmp_path / name / "add.so").write_bytes(b"code")
    an_hour_ago = time.time() - 3700
    for name in old:
        os.utime(tmp_path / name, (an_hour_ago, an_hour_ago))
    lock = os.open(tmp_path / ".polystate-library-in_use", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run_python(OPEN, machine_code, tmp_path) == "[1.0, 2.0, 3.0]\n"
    finally:
        os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".polystate-library-in_use", young, "polystate-models",
    ]  # fmt: skip


THREADS = """
import sys
import polystate as ps
session = ps.load(sys.argv[1], trust_code=True, threads=2).session()
print(session.run("add", [1.0, 2.0, 3.0])[0].tolist())
other = ps.load(sys.argv[1], trust_code=True, threads=3).session()
print(session.run("add", [1.0, 2.0, 3.0])[0].tolist())
print(other.run("add", [1.0, 2.0, 3.0])[0].tolist())
"""


def test_the_number_of_threads_may_change_while_sessions_exist(
    machine_code: Path, run_python: RunPython
) -> None:
    said = run_python(THREADS, machine_code)
    assert said == "[1.0, 2.0, 3.0]\n[2.0, 4.0, 6.0]\n[1.0, 2.0, 3.0]\n"
