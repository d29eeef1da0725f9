"""The programs of docs/translation.md work as they are printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command_line import POLYSTATE
from tests.end_to_end.printed_programs import ROOT, build_project, run, write_programs
from tests.support.exported_models import MODEL, demo_model, kept

TEXT = (ROOT / "docs/translation.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give every program in a file, with the model and its artifact beside them."""
    directory = tmp_path_factory.mktemp("translation")
    write_programs("docs/translation.md", "translation", directory)
    (directory / "models").symlink_to(ROOT / "models")
    (directory / "en-fr").symlink_to(demo_model())
    return directory


def _run_in_memory(out: Path, program: str) -> None:
    (out / "program.py").write_text(program)
    (out / "models").symlink_to(ROOT / "models")
    run(out, sys.executable, "program.py")
    (out / "models").unlink()


def test_a_model_in_memory_is_exported(directory: Path) -> None:
    program = (directory / "export_in_memory.py").read_text()
    out = kept(_run_in_memory, program, backend="xnnpack", files=MODEL.iterdir())
    assert run(out, str(POLYSTATE), "translate", "en-fr-small", "Hello.").strip()


def test_the_command_that_exports_is_the_readme_s(directory: Path) -> None:
    """It takes a while, and test_readme.py runs it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"<!-- readme: translate -->\n```sh\n(.*\n)", readme)
    assert commands == [(directory / "export.sh").read_text()]


def test_the_shell_commands_run(directory: Path) -> None:
    lines = run(directory, "bash", "-e", "shell").splitlines()
    assert len(lines) == 1 + 2 + 3 + 1 + 1
    assert all("\t" in line for line in lines[3:6])
    assert len((directory / "french.txt").read_text().splitlines()) == 2


def test_the_python_program_translates(directory: Path) -> None:
    one, two, *n_best = run(directory, sys.executable, "translate.py").splitlines()
    assert one.startswith("[{'translation_text': ")
    assert two.count("translation_text") == 2
    assert len(set(n_best)) == 2


def test_processors_and_samplers_in_python_change_the_text(directory: Path) -> None:
    streamed, forbidden, sampled = run(directory, sys.executable, "own.py").splitlines()
    assert sampled == str([{"translation_text": streamed}])
    assert forbidden != sampled


def test_ids_become_ids_and_text(directory: Path) -> None:
    lines = run(directory, sys.executable, "ids.py").splitlines()
    assert [re.sub(r"\[.*\]", "[]", line).split(" ", 2)[1] for line in lines] == ["[]", "[]"]


def test_the_cpp_programs_build_as_a_project_of_their_own_and_run(directory: Path) -> None:
    build_project(directory)
    lines = run(directory, "build/translate").splitlines()
    scores = [float(line.split("\t")[0]) for line in lines]
    assert len(lines) == 4
    assert scores[0] >= scores[1]
    greedy = run(
        directory, str(POLYSTATE), "translate", "en-fr", "--beam", "1", "I like it very much."
    )
    assert run(directory, "build/own") not in ("", "\n", greedy)


def test_every_field_of_a_generation_config_is_in_its_table() -> None:
    _, honoured, refused, ignored = re.split(r"\n\| (?:honoured|refused|without effect)", TEXT)

    def declared(file: str, pattern: str) -> list[str]:
        source = (ROOT / "src/sampler" / file).read_text()
        return re.findall(r'\{"(\w+)", ' + pattern, source)

    for section, names in (
        (honoured, declared("config_fields.cc", "&Config")),
        (refused, declared("other_fields.cc", "kRefused")),
        (ignored, declared("other_fields.cc", "kIgnored")),
    ):
        assert names
        table = section.split("\n\n")[0]
        assert re.findall(r"`(\w+)`", table.split("\n| --- | --- |")[1]) == names
