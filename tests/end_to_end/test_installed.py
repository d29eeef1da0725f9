"""polystate, configured for the first time and installed: the command, and the CMake package."""

import os
import re
import shutil
import subprocess

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end.printed_programs import ROOT, run

# What else the preset builds.
LEFT_OUT = ("BUILD_TESTS", "BUILD_TEST_PROGRAMS", "BUILD_EXAMPLES", "BUILD_BENCH", "BUILD_PYTHON")


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


# What `make build-dev` has compiled is taken from ccache, as in test_aoti_alone.py.
@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed") / "prefix"
    build = str(ROOT / "build/installed")
    shutil.rmtree(build, ignore_errors=True)
    options = [f"-DPOLYSTATE_{name}=OFF" for name in LEFT_OUT]
    run(ROOT, "cmake", "--preset", "dev", "-B", build, *options)
    run(ROOT, "cmake", "--build", build, "--parallel", str(os.cpu_count()))
    run(ROOT, "cmake", "--install", build, "--prefix", str(prefix))
    shutil.rmtree(build)
    return prefix


def test_the_command_starts_and_runs_an_artifact(prefix, tmp_path):
    command = str(prefix / "bin/polystate")
    assert "ExecuTorch" in run(tmp_path, command, "--version")
    artifact = tmp_path / "artifact"
    ps.export(Twice(), {"twice": ps.Method("forward", (torch.ones(2),))}).save(artifact)
    run(tmp_path, command, "doctor", str(artifact))
    assert "[2, 6]" in run(tmp_path, command, "run", str(artifact), "twice", "--input", "x=[1,3]")


def test_another_project_is_built_with_the_package(prefix, tmp_path):
    shutil.copytree(ROOT / "tests/package", tmp_path / "project")
    run(tmp_path, "cmake", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(tmp_path, "cmake", "--build", "build")
    run(tmp_path, "build/consumer")


def test_nothing_of_eigen_and_xgrammar_is_under_their_own_names(prefix):
    (library,) = prefix.glob("lib*/**/libpolystate.a")
    names = subprocess.run(
        ["nm", "--demangle", "--defined-only", "--format=posix", library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(r"\bpolystate_eigen::", names)
    assert re.findall(r"^.*\b(?:Eigen|xgrammar|picojson)::.*$", names, re.MULTILINE)[:3] == []


def test_licences_come_along(prefix):
    documents = prefix / "share/doc/polystate"
    assert (documents / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    with_code = {"nlohmann_json", "eigen", "xgrammar", "picojson", "CLI11"}
    assert {path.parent.name for path in documents.glob("*/LICENSE")} == with_code


def test_a_package_without_its_libraries_says_which(prefix, tmp_path):
    shutil.copytree(ROOT / "tests/package_text", tmp_path / "project")
    configure = ["cmake", "-S", "project", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = subprocess.run(
        [*configure, "-DPOLYSTATE_PCRE2_LIBRARY="],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "it needs pcre2, which was not found" in " ".join(done.stderr.split())
    run(tmp_path, *configure, "-UPOLYSTATE_PCRE2_LIBRARY")
