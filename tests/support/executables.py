"""Finds the programs of the C++ build that tests run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def executable(path: str, target: str | None = None) -> Path:
    """Return a program of the developer build, or of the build that POLYSTATE_TEST_BUILD names.

    A test whose program is not built fails, and says what builds it.

    Parameters
    ----------
    path
        Where the program lies in the folder of a build.
    target
        Its name in CMake, where that is not the name of the file.
    """
    named = os.environ.get("POLYSTATE_TEST_BUILD")
    build = (
        f"cmake --build {named}" if named else "cmake --preset dev && cmake --build --preset dev"
    )
    program = Path(named or ROOT / "build/dev") / path
    if not program.is_file():
        command = f"{build} --target {target or program.name}"
        pytest.fail(f"there is no {program}: `{command}` builds it", pytrace=False)
    return program
