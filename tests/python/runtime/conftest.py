"""The artifacts that these tests run, exported once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.export import Dim

import polystate as ps
from tests.python.runtime.runtime_support import DTYPES, RunPython, Toy


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = {0: Dim("rows", min=1, max=8)}
    two = torch.ones(2, 3)
    methods = {
        "add": ps.Method("add", (torch.ones(2, 4),), dynamic_shapes=(rows,)),
        "get": ps.Method("get"),
        "count": ps.Method("count", (torch.tensor(1),)),
        "subtract": ps.Method("subtract", (two, two)),
        "double": ps.Method("double", (torch.ones(2, 3),)),
        "rescale": ps.Method("rescale", (torch.ones(2, dtype=torch.bfloat16),)),
        "work": ps.Method("work", (torch.tensor(1.0),)),
    }
    program = ps.export(
        Toy().eval(), methods, backend="portable", constants={"max_length": 64, "name": "toy"}
    )
    return program.save(tmp_path_factory.mktemp("artifacts") / "toy")


@pytest.fixture(scope="session")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One method a dtype, of its name, which returns its input."""

    def method(dtype: str) -> ps.Method:
        example = torch.zeros(2, 3, dtype=getattr(torch, dtype))
        return ps.Method(lambda x: x.clone(), (example,), dynamic_shapes=({0: Dim("n", max=4)},))

    methods = {dtype: method(dtype) for dtype in DTYPES}
    program = ps.export(torch.nn.Module().eval(), methods, backend="portable")
    return program.save(tmp_path_factory.mktemp("artifacts") / "echo")


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
