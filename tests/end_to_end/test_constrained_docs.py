"""The programs of docs/constrained.md work as they are printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.end_to_end.printed_programs import run, write_programs
from tests.support.toy_completion import toy_completion

BEGINNING = r'\{("(n(a(m(e(".*)?)?)?)?)?)?'  # of what the schema allows


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("constrained")
    write_programs("docs/constrained.md", "constrained", directory)
    (directory / "smollm").symlink_to(toy_completion() / "toy")
    return directory


def test_the_shell_commands_give_texts_of_their_forms(directory: Path) -> None:
    person, year, choice = run(directory, "bash", "-e", "complete").splitlines()
    assert re.fullmatch(BEGINNING, person)
    assert re.fullmatch("[0-9]{4}", year)
    assert choice in ("yes", "no")


def test_the_python_program_gives_texts_of_their_forms(directory: Path) -> None:
    person, year = run(directory, sys.executable, "person.py").splitlines()
    assert re.fullmatch(BEGINNING, person)
    assert re.fullmatch("[0-9]{4}", year)
