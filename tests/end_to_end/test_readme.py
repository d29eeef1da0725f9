"""The README's programs work as they are printed."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from transformers import MarianTokenizer

from tests.end_to_end.command_line import POLYSTATE
from tests.end_to_end.printed_programs import ROOT, build_project, run, write_programs
from tests.support.exported_models import chat_model, demo_model
from tests.support.toy_completion import toy_completion


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Every program of the README in a file, the exported artifact beside them."""
    directory = tmp_path_factory.mktemp("readme")
    write_programs("README.md", "readme", directory)
    run(directory, sys.executable, "export.py")
    (directory / "models").symlink_to(ROOT / "models")
    shutil.copytree(demo_model(), directory / "en-fr")
    (directory / "smollm").symlink_to(toy_completion() / "toy")
    return directory


def test_the_export_reports_the_contract_and_how_state_is_updated(directory):
    report = run(directory, sys.executable, "export.py")
    assert "rows 1..64" in report
    assert "writes 'total'" in report


def test_the_python_program_runs(directory):
    assert "[2. 2. 2. 2.] 2.0" in run(directory, sys.executable, "run.py")


def test_the_tokenizer_gives_ids_and_text(directory):
    ids = MarianTokenizer.from_pretrained(ROOT / "models/en-fr-tatoeba")("Hello, world").input_ids
    assert run(directory, sys.executable, "to_ids.py") == f"{ids} Hello, world\n"


def test_the_cpp_program_builds_as_a_project_of_its_own_and_runs(directory):
    build_project(directory)
    assert run(directory, "build/average").split() == ["2", "2", "2", "2"]
    assert run(directory, "build/translate") == translated(directory)
    command = ["polystate", "complete", "smollm", "The capital of France is"]
    assert run(directory, "build/complete") == run(directory, *command)


def test_a_completion_has_one_command_and_ten_lines(directory):
    (command,) = (directory / "complete").read_text(encoding="utf-8").splitlines()
    assert len((directory / "complete.cc").read_text(encoding="utf-8").splitlines()) <= 10
    assert run(directory, "bash", "-c", command).strip()


def test_a_conversation_has_three_turns(directory):
    export, talk = (directory / "chat").read_text(encoding="utf-8").splitlines()
    # This is how `chat_model` was made, with another folder.
    assert export == "polystate-export models/en-fr-chat en-fr-chat --recipe xnnpack_q8"
    (directory / "en-fr-chat").symlink_to(chat_model("xnnpack_q8"))
    printed = (directory / "chat.txt").read_text(encoding="utf-8")
    assert len(printed.splitlines()) == 3
    assert run(directory, "bash", "-c", talk) == printed


def test_the_translation_has_two_commands_and_ten_lines(directory):
    commands = (directory / "translate").read_text(encoding="utf-8").splitlines()
    program = (directory / "translate.cc").read_text(encoding="utf-8").splitlines()
    assert (len(commands), len(program)) == (2, 10)
    # This is how `demo_model` was made, which takes a minute, with another folder.
    assert commands[0] == "polystate-export models/en-fr-tatoeba en-fr"
    assert run(directory, "bash", "-c", commands[1]) == translated(directory)


def translated(directory):
    text = run(directory, "polystate", "translate", "en-fr", "Where is the station?")
    assert text.strip()
    return text


def test_the_shell_commands_run(directory):
    for line in (directory / "shell").read_text(encoding="utf-8").splitlines():
        command = shlex.split(line)
        assert command[0] == "polystate"
        shown = run(directory, str(POLYSTATE), *command[1:])
        assert shown
        assert "nan" not in shown


def test_the_commands_are_where_the_text_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (folder,) = re.findall(r"source (\S+)/activate", text)
    assert (ROOT / folder).samefile(Path(sys.executable).parent)
    for command in ("polystate", "polystate-export", "python", "cmake"):
        assert (ROOT / folder / command).is_file()
