"""``polystate complete`` and ``polystate score``: prompts in, what follows them or scores out."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import subprocess
from pathlib import Path

import pytest

import polystate as ps
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.support.exported_models import demo_model
from tests.support.toy_completion import LENGTH, toy_completion

PROMPTS = ["I like", "Where is the station?", "Ça va"]
NEW = ["--max-new-tokens", "8"]


@pytest.fixture(scope="module")
def artifact() -> Path:
    return toy_completion() / "toy"


@pytest.fixture(scope="module")
def pipeline(artifact: Path) -> ps.Pipeline:
    return ps.pipeline(artifact)


@pytest.fixture(scope="module")
def texts(pipeline: ps.Pipeline) -> list[str]:
    """What follows each prompt; of random weights, parts of characters and line feeds among it."""
    answers = pipeline(PROMPTS, max_new_tokens=8, return_full_text=False)
    return [answer[0]["generated_text"] for answer in answers]


def lines_of(texts: list[str]) -> str:
    return "".join(text.replace("\n", " ") + "\n" for text in texts)


def test_each_prompt_gives_what_follows_it(artifact: Path, texts: list[str]) -> None:
    done = polystate("complete", artifact, *NEW, *PROMPTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(text + "\n" for text in texts)
    echoed = polystate("complete", artifact, *NEW, "--echo", PROMPTS[0])
    assert echoed.stdout == f"{PROMPTS[0]}{texts[0]}\n"


def test_lines_of_a_pipe_and_of_a_file_give_lines(
    artifact: Path, texts: list[str], tmp_path: Path
) -> None:
    prompts = f"{PROMPTS[0]}\n\n{PROMPTS[1]}\r\n{PROMPTS[2]}"
    expected = lines_of([texts[0], "", *texts[1:]])
    assert polystate("complete", artifact, *NEW, input=prompts).stdout == expected
    file = tmp_path / "prompts.txt"
    file.write_text(prompts)
    assert polystate("complete", artifact, *NEW, "--file", file).stdout == expected


def test_a_whole_file_is_one_prompt_without_its_last_line_end(
    artifact: Path, pipeline: ps.Pipeline, tmp_path: Path
) -> None:
    prompt = "I like it.\r\n\n  Where is\tit?"
    (expected,) = pipeline(prompt, max_new_tokens=8, return_full_text=False)
    file = tmp_path / "prompt.txt"
    for end in ("", "\n", "\r\n"):
        file.write_bytes((prompt + end).encode())
        for source in (["--file", file], []):
            with file.open() as stdin:
                done = polystate("complete", artifact, *NEW, "--whole", *source, stdin=stdin)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout == expected["generated_text"] + "\n"


def test_an_empty_argument_starts_from_nothing(artifact: Path, pipeline: ps.Pipeline) -> None:
    (expected,) = pipeline("", max_new_tokens=8)
    assert polystate("complete", artifact, *NEW, "").stdout == expected["generated_text"] + "\n"


def test_json_has_a_line_for_each_prompt_and_says_why_texts_end(
    artifact: Path, texts: list[str]
) -> None:
    done = polystate("complete", artifact, *NEW, "--json", *PROMPTS)
    found = [json.loads(line)["completions"] for line in done.stdout.splitlines()]
    assert found == [[{"text": text, "finish_reason": "length"}] for text in texts]


def test_a_stream_is_the_text(artifact: Path, texts: list[str]) -> None:
    done = polystate("complete", artifact, *NEW, "--stream", *PROMPTS)
    assert done.stdout == "".join(text + "\n" for text in texts)
    prompts = "".join(prompt + "\n" for prompt in PROMPTS)
    lines = polystate("complete", artifact, *NEW, "--stream", input=prompts)
    assert lines.stdout == lines_of(texts)


@pytest.mark.parametrize(("option", "streams"), [([], True), (["--no-stream"], False)])
def test_a_terminal_gets_a_stream_unless_told_otherwise(
    artifact: Path, texts: list[str], option: list[str], streams: bool
) -> None:
    """The first text is shown before it is known that the second is refused."""
    reader, terminal = pty.openpty()
    prompts = [PROMPTS[0], "x" * 1000]
    command = [POLYSTATE, "complete", artifact, *NEW, *option, *prompts]
    process = subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(reader, 4096):
            shown += piece
    os.close(reader)
    assert process.wait(timeout=60) == 4
    assert shown.decode().replace("\r\n", "\n") == (texts[0] + "\n" if streams else "")


def test_n_texts_are_drawn_again_by_their_seed(artifact: Path, pipeline: ps.Pipeline) -> None:
    drawn = {"do_sample": True, "seed": 5, "num_return_sequences": 3, "max_new_tokens": 8}
    answers = pipeline(PROMPTS[0], return_full_text=False, **drawn)
    expected = "".join(answer["generated_text"] + "\n" for answer in answers)
    options = [*NEW, "--set", "do_sample=true", "--seed", 5, "--n", 3]
    done = polystate("complete", artifact, *options, PROMPTS[0])
    assert (done.stdout, done.stderr) == (expected, "")
    other = polystate("complete", artifact, *options, "--seed", 6, PROMPTS[0])
    assert other.stdout != expected


def test_a_text_ends_with_the_first_of_several_stops(artifact: Path, texts: list[str]) -> None:
    end = next(i for i, character in enumerate(texts[0]) if i > 2 and character.isascii())
    stop = texts[0][end : end + 2]
    options = [*NEW, "--json", "--stop", "no such text", "--stop", stop, "--stop", '"quoted"']
    done = polystate("complete", artifact, *options, PROMPTS[0])
    ((completion,),) = json.loads(done.stdout).values()
    assert completion["finish_reason"] == "stop_string"
    assert stop in completion["text"]
    assert texts[0].startswith(completion["text"])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--n", "2", "Hi"], 4, "there is one sequence without num_beams or do_sample"),
        (["--max-new-tokens", "99", "Hi"], 4, "text 1: max_new_tokens is 99 after a prompt of"),
        (["--stream", "--set", "num_beams=2", "Hi"], 4, "a stream is of one sequence"),
        (["--stream", "--json", "Hi"], 2, "--json"),
        (["--whole", "Hi"], 2, "--whole"),
        (["--file", "x", "Hi"], 2, "--file"),
        (["--stop", "", "Hi"], 2, "'stop_strings'"),
        (["--seed", "x", "Hi"], 2, "seed"),
        (["--grammar", "", "Hi"], 2, "--grammar"),
        (["--json-schema", "", "Hi"], 2, "--json-schema"),
        (["--file", "none"], 4, "cannot be read"),
        (["--whole", "--file", "none"], 4, "cannot be read"),
    ],
)
def test_a_mistake_is_an_exit_status(
    artifact: Path, arguments: list[str], status: int, message: str, tmp_path: Path
) -> None:
    done = polystate("complete", artifact, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_a_prompt_that_is_too_long_is_refused_by_its_line_or_loses_its_beginning(
    artifact: Path, pipeline: ps.Pipeline
) -> None:
    long = "I like it very much. " * 20
    refused = polystate("complete", artifact, *NEW, input=f"Hi\n\n{long}\n")
    assert refused.returncode == 4
    assert "line 3: the prompt has" in refused.stderr
    cut = polystate("complete", artifact, *NEW, "--truncate", input=f"{long}\n")
    (expected,) = pipeline(long, truncation=True, max_new_tokens=8, return_full_text=False)
    assert cut.stdout == lines_of([expected["generated_text"]])
    slides = polystate("complete", artifact, *NEW, "--set", "context=slide", input=f"{long}\n")
    assert (slides.returncode, slides.stdout.count("\n")) == (0, 1)


def test_commands_are_for_the_models_that_they_say(artifact: Path, tmp_path: Path) -> None:
    translated = polystate("translate", artifact, "Hi")
    assert (translated.returncode, translated.stdout) == (5, "")
    assert "polystate complete" in translated.stderr
    (tmp_path / "text.txt").write_text("Hi\n")
    for command in (["complete", demo_model(), "Hi"], ["score", demo_model(), "text.txt"]):
        refused = polystate(*command, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (5, "")
        assert "has an encoder" in refused.stderr


def test_scores_are_those_of_the_pipeline(
    artifact: Path, pipeline: ps.Pipeline, tmp_path: Path
) -> None:
    lines = [*PROMPTS, "", "x"]
    file = tmp_path / "lines.txt"
    file.write_text("".join(line + "\n" for line in lines))
    expected = pipeline.score(lines)
    found = json.loads(polystate("score", artifact, file, "--json").stdout)
    assert [each["tokens"] for each in found["texts"]] == [each.tokens for each in expected.texts]
    for each, score in zip(found["texts"], expected.texts, strict=True):
        assert each["logprob"] == pytest.approx(score.logprob, abs=1e-9)
    assert found["tokens"] == sum(each["tokens"] for each in found["texts"])
    logprob = sum(each["logprob"] for each in found["texts"])
    assert found["mean_nll"] == pytest.approx(-logprob / found["tokens"])
    assert found["perplexity"] == pytest.approx(math.exp(found["mean_nll"]))
    *each_line, last = polystate("score", artifact, "-", input=file.read_text()).stdout.splitlines()
    shown = [(float(logprob), int(tokens)) for logprob, tokens in map(str.split, each_line)]
    assert shown == [(each["logprob"], each["tokens"]) for each in found["texts"]]
    assert last == (
        f"mean_nll {found['mean_nll']}, perplexity {found['perplexity']}, tokens {found['tokens']}"
    )


def test_a_whole_text_is_scored_in_windows(
    artifact: Path, pipeline: ps.Pipeline, tmp_path: Path
) -> None:
    text = "I like it very much.\n" * 40
    file = tmp_path / "text.txt"
    file.write_text(text)
    for option, stride in ([], None), (["--stride", "50"], 50):
        done = polystate("score", artifact, file, "--whole", "--json", *option)
        expected = pipeline.score(text[:-1], stride=stride)
        found = json.loads(done.stdout)
        assert found["tokens"] == expected.tokens > 3 * LENGTH
        assert found["mean_nll"] == pytest.approx(expected.mean_nll)
    far = polystate("score", artifact, file, "--whole", "--stride", LENGTH)
    assert (far.returncode, far.stdout) == (4, "")
    assert f"it may be 1 to {LENGTH - 1}" in far.stderr


def test_nothing_has_no_score(artifact: Path) -> None:
    found = json.loads(polystate("score", artifact, "-", "--json", input="").stdout)
    assert found == {"texts": [], "mean_nll": None, "perplexity": None, "tokens": 0}
    assert polystate("score", artifact, "none").returncode == 4
    assert polystate("score", artifact).returncode == 2
