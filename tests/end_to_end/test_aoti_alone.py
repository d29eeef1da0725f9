"""polystate built with AOTInductor's engine alone: without ExecuTorch, installed, and used."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end.printed_programs import ROOT, run


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(3))

    def add(self, row):
        self.total += row
        return self.total.clone()


def save(backend: str, folder: Path) -> Path:
    methods = {"add": ps.Method("add", (torch.zeros(3),))}
    return ps.export(Sum(), methods, backend=backend).save(folder)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return save("aoti", tmp_path_factory.mktemp("artifact") / "aoti")


# What a build with ExecuTorch has compiled before is taken from ccache: the flags are the same, and
# so are the paths from the folder of the build, which lies beside the others.
@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    options = ("-DPOLYSTATE_EXECUTORCH=OFF", "-DPOLYSTATE_BUILD_PYTHON=OFF")
    disabled = "-DCMAKE_DISABLE_FIND_PACKAGE_executorch=ON"
    build = str(ROOT / "build/alone")
    shutil.rmtree(build, ignore_errors=True)
    run(ROOT, "cmake", "--preset", "editable", "-B", build, *options, disabled)
    run(ROOT, "cmake", "--build", build, "--parallel", str(os.cpu_count()))
    run(ROOT, "cmake", "--install", build, "--prefix", str(folder / "prefix"))
    return folder / "prefix"


def test_the_installed_command_runs_its_engine_and_names_the_other(prefix, artifact, tmp_path):
    command = str(prefix / "bin/polystate")
    assert "ExecuTorch" not in run(tmp_path, command, "--version")
    assert "libexecutorch" not in run(tmp_path, "ldd", command)
    doctor = run(tmp_path, command, "doctor", str(artifact), "--trust-code")
    assert "calls replayed" in doctor
    refused = subprocess.run(
        [command, "doctor", str(save("portable", tmp_path / "portable"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "POLYSTATE_EXECUTORCH" in refused.stdout


def test_another_project_finds_the_component(prefix, artifact, tmp_path):
    project = str(ROOT / "tests/package_aoti")
    run(tmp_path, "cmake", "-S", project, "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(tmp_path, "cmake", "--build", "build")
    assert run(tmp_path, "build/consumer", str(artifact)) == "2 3 4 "
