"""The README's programs work as they are printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from exported_models import demo_model

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- readme: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Every program of the README in a file, the exported artifact beside them."""
    directory = tmp_path_factory.mktemp("readme")
    for name, text in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        (directory / name).write_text(text, encoding="utf-8")
    run(directory, sys.executable, "export.py")
    tokenizer = Tokenizer(models.WordLevel({"Hello": 0, ",": 1, "world": 2}, unk_token=","))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "models").symlink_to(ROOT / "models")
    shutil.copytree(demo_model(), directory / "en-fr")
    return directory


def run(directory, *command):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_export_reports_the_contract_and_how_state_is_updated(directory):
    report = run(directory, sys.executable, "export.py")
    assert "rows 1..64" in report
    assert "writes 'total'" in report


def test_the_python_program_runs(directory):
    assert "[2. 2. 2. 2.] 2.0" in run(directory, sys.executable, "run.py")


def test_the_tokenizer_gives_ids_and_text(directory):
    assert run(directory, sys.executable, "to_ids.py") == "[0, 1, 2] Hello , world\n"


def test_the_cpp_program_builds_as_a_project_of_its_own_and_runs(directory):
    prefix = directory / "prefix"
    run(ROOT, "cmake", "--install", "build/dev", "--prefix", str(prefix))
    run(directory, "cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(directory, "cmake", "--build", "build")
    assert run(directory, "build/average").split() == ["2", "2", "2", "2"]
    assert run(directory, "build/translate") == translated(directory)


def test_the_translation_has_two_commands_and_ten_lines(directory):
    commands = (directory / "translate").read_text(encoding="utf-8").splitlines()
    program = (directory / "translate.cc").read_text(encoding="utf-8").splitlines()
    assert (len(commands), len(program)) == (2, 10)
    before = translated(directory)
    assert run(directory, "bash", "-e", "translate") == before  # it replaces the artifact


def translated(directory):
    text = run(directory, "polystate", "translate", "en-fr", "Where is the station?")
    assert text.strip()
    return text


def test_the_shell_commands_run(directory):
    for line in (directory / "shell").read_text(encoding="utf-8").splitlines():
        command = line.split()
        assert command[0] == "polystate"
        assert run(directory, str(Path(sys.executable).parent / "polystate"), *command[1:])
