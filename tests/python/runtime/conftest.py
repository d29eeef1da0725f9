"""The artifacts that these tests run, exported once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import polystate as ps
from tests.python.runtime.runtime_support import RunPython, export_echo, export_toy
from tests.support.exported_models import kept


@pytest.fixture(scope="session")
def toy() -> Path:
    return kept(export_toy) / "toy"


@pytest.fixture(scope="session")
def echo() -> Path:
    """One method a dtype, of its name, which returns its input."""
    return kept(export_echo) / "echo"


@pytest.fixture(scope="session")
def model(toy: Path) -> ps.Model:
    return ps.load(toy)


@pytest.fixture
def session(model: ps.Model) -> ps.Session:
    return model.session()


@pytest.fixture(scope="session")
def subprocess_environment() -> dict[str, str]:
    """Where a process of its own finds what this one imports."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(scope="session")
def run_python(subprocess_environment: dict[str, str]) -> RunPython:
    def run(program: str, *arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=subprocess_environment,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
