"""The programs that documents print, as files that run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.command_line import POLYSTATE

ROOT = Path(__file__).resolve().parents[2]


def write_programs(document: str, mark: str, directory: Path) -> None:
    """Writes each block after ``<!-- mark: name -->`` to a file of that name.

    Parameters
    ----------
    document
        Its path from the root of the project.
    """
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(rf"<!-- {mark}: (\S+) -->\n```\w+\n(.*?)```", text, re.DOTALL)
    for name, program in blocks:
        (directory / name).write_text(program, encoding="utf-8")


def run(directory: Path, *command: str) -> str:
    """What a command prints that succeeds, with the project's commands on its path."""
    path = os.pathsep.join(
        [str(POLYSTATE.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    done = subprocess.run(
        command,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=1500,  # of a slow machine that builds the library
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_project(directory: Path, *options: str) -> None:
    """Builds a directory's CMake project in ``build``, against an installed polystate."""
    prefix = directory / "prefix"
    run(ROOT, "cmake", "--install", "build/dev", "--prefix", str(prefix))
    run(directory, "cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run(directory, "cmake", "--build", "build")
