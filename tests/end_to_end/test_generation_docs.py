"""The programs of docs/generation.md work as they are printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import polystate as ps
from tests.end_to_end.printed_programs import build_project, run, write_programs
from tests.support.toy_completion import toy_completion


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give every program in a file, with an artifact beside them."""
    directory = tmp_path_factory.mktemp("generation")
    write_programs("docs/generation.md", "generation", directory)
    (directory / "smollm").symlink_to(toy_completion() / "toy")
    return directory


@pytest.fixture(scope="module")
def model() -> ps.Model:
    return ps.load(toy_completion() / "toy")


def follows(model: ps.Model, prompt: str) -> str:
    return ps.generate(model, prompt, max_new_tokens=20)


def test_the_shell_commands_complete(directory: Path, model: ps.Model) -> None:
    shown = run(directory, "bash", "-e", "complete")
    expected = follows(model, "The capital of France is") + "\n"
    for prompt in ("Once upon a time", "The sea is"):
        expected += follows(model, prompt).replace("\n", " ") + "\n"
    expected += follows(model, "A list of\nfruit:") + "\n"
    assert shown.startswith(expected)
    assert json.loads(shown.splitlines()[-1])["completions"]


def test_the_python_program_completes(directory: Path, model: ps.Model) -> None:
    one, two, *drawn, last = run(directory, sys.executable, "complete.py").splitlines()
    prompt = "The capital of France is"
    assert one == str([{"generated_text": prompt + follows(model, prompt)}])
    assert two.count("generated_text") == 2
    assert len(set(drawn)) == 3
    assert last == repr(follows(model, "The sea is"))


def test_the_python_program_streams(directory: Path, model: ps.Model) -> None:
    prompts = ("The capital of France is", "The sea is")
    expected = "".join(follows(model, prompt) + "\n" for prompt in prompts)
    assert run(directory, sys.executable, "stream.py") == expected


def test_scores_are_the_same_in_the_shell_and_in_python(directory: Path) -> None:
    *lines, total, json_line = run(directory, "bash", "-e", "score").splitlines()
    *texts, all_of_them = run(directory, sys.executable, "score.py").splitlines()
    assert numbers(" ".join(lines)) == pytest.approx(numbers(" ".join(texts)))
    assert numbers(total) == pytest.approx(numbers(all_of_them))
    assert json.loads(json_line)["tokens"] > 0


def numbers(text: str) -> list[float]:
    words = text.replace(",", " ").split()
    return [float(word) for word in words if word[-1].isdigit()]


def test_ids_become_ids_and_text(directory: Path) -> None:
    *texts, last = run(directory, sys.executable, "ids.py").splitlines()
    assert len(texts) == 2
    assert last.endswith("['length', 'length']")


def test_the_cpp_programs_build_as_a_project_of_their_own_and_run(
    directory: Path, model: ps.Model
) -> None:
    build_project(directory)
    prompts = ("Once upon a time", "The sea is")
    expected = "".join(follows(model, prompt) + "\n" for prompt in prompts)
    assert run(directory, "build/complete") == expected
    assert run(directory, "build/stream") == follows(model, "The capital of France is") + "\n"
    perplexity = ps.pipeline(model).score(["The sea is blue.", "The sea is a kind of fruit."])
    assert float(run(directory, "build/score")) == pytest.approx(perplexity.perplexity, rel=1e-4)
