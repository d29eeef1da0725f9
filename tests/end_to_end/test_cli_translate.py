"""``polystate translate``: lines in, lines out, in a shell."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import polystate as ps
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.support.exported_models import demo_model

TEXTS = ["Hello.", "I like it very much.", "Where is the station?"]


@pytest.fixture(scope="module")
def artifact() -> Path:
    return demo_model()


@pytest.fixture(scope="module")
def greedy(artifact: Path) -> dict[str, str]:
    """What the Python pipeline answers, by text."""
    answers = ps.pipeline(artifact)(TEXTS, num_beams=1)
    return {text: answer["translation_text"] for text, answer in zip(TEXTS, answers, strict=True)}


class Conversation:
    """With a process that answers a line once it was sent."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def end(self) -> int:
        """Its exit status, after the last line."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=60)


@contextlib.contextmanager
def translating(artifact: Path, *arguments: str, **options: Any) -> Iterator[Conversation]:
    """A greedy ``polystate translate`` on pipes, unless Popen's options say otherwise."""
    command = [POLYSTATE, "translate", artifact, "--beam", "1", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes | options) as process:
        yield Conversation(process)


def lines_of(texts: list[str]) -> str:
    return "".join(text + "\n" for text in texts)


def test_each_text_gives_a_line_as_in_python(artifact: Path, greedy: dict[str, str]) -> None:
    done = polystate("translate", artifact, "--beam", 1, *TEXTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == lines_of([greedy[text] for text in TEXTS])


@pytest.mark.parametrize("most", ["scalar", "avx2", "avx_vnni"])
def test_fewer_instructions_give_the_same_text(
    artifact: Path, greedy: dict[str, str], most: str
) -> None:
    fewer = {**os.environ, "POLYSTATE_INSTRUCTION_SET": most}
    done = polystate("translate", artifact, "--beam", 1, *TEXTS, env=fewer)
    assert done.stdout == lines_of([greedy[text] for text in TEXTS])


def test_instructions_that_have_no_name_are_refused(artifact: Path) -> None:
    unknown = {**os.environ, "POLYSTATE_INSTRUCTION_SET": "avx3"}
    done = polystate("translate", artifact, *TEXTS, env=unknown)
    assert (done.returncode, done.stdout) == (4, "")
    assert "POLYSTATE_INSTRUCTION_SET is 'avx3'; it may be scalar, neon, avx2" in done.stderr


def test_lines_of_a_pipe_and_of_a_file_keep_their_order(
    artifact: Path, greedy: dict[str, str], tmp_path: Path
) -> None:
    expected = lines_of([greedy[TEXTS[0]], "", greedy[TEXTS[1]], "", greedy[TEXTS[2]]])
    text = f"{TEXTS[0]}\n\n{TEXTS[1]}\r\n \t\n{TEXTS[2]}"  # the last line has no end
    assert polystate("translate", artifact, "--beam", 1, input=text).stdout == expected
    file = tmp_path / "text.txt"
    file.write_text(text)
    done = polystate("translate", artifact, "--beam", 1, "--file", file)
    assert done.stdout == expected


def test_a_slow_writer_is_answered_before_it_goes_on(artifact: Path) -> None:
    with translating(artifact) as conversation:
        for _ in range(2):
            conversation.send("Hello.\n\n")
            assert conversation.read_line().strip()
            assert conversation.read_line() == "\n"
        assert conversation.end() == 0


def messages_of_a_slow_translation(artifact: Path, pair: Callable[[], tuple[int, int]]) -> bytes:
    """What comes out of the first of a pair of descriptors; the second is the standard error."""
    reader, errors = pair()
    with translating(artifact, stderr=errors) as conversation:
        os.close(errors)
        for _ in range(2):
            conversation.send("Hello.\n")
            assert conversation.read_line().strip()
            time.sleep(0.3)  # progress is shown five times a second at most
        assert conversation.end() == 0
    messages = b""
    with contextlib.suppress(OSError):  # a terminal whose other end was closed
        while piece := os.read(reader, 4096):
            messages += piece
    os.close(reader)
    return messages


def test_a_terminal_shows_progress_which_is_wiped_at_the_end(artifact: Path) -> None:
    messages = messages_of_a_slow_translation(artifact, pty.openpty)
    assert re.search(rb"\r\x1b\[Ktranslated 2 lines \(\d+/s\)\r\x1b\[K$", messages)


def test_answers_on_the_terminal_that_shows_progress_have_lines_of_their_own(
    artifact: Path,
) -> None:
    reader, terminal = pty.openpty()
    with translating(artifact, stdout=terminal, stderr=terminal) as conversation:
        os.close(terminal)
        shown = b""
        for answers in (1, 2):
            conversation.send("Hello.\n")
            while shown.count(b"\r\n") < answers:
                shown += os.read(reader, 4096)
            time.sleep(0.3)
        assert conversation.end() == 0
    os.close(reader)
    first, second, _ = (re.sub(rb".*\x1b\[K", b"", line) for line in shown.split(b"\r\n"))
    assert b"translated" in shown
    assert first == second != b""


def test_what_is_no_terminal_shows_no_progress(artifact: Path) -> None:
    assert messages_of_a_slow_translation(artifact, os.pipe) == b""


@pytest.mark.parametrize("threads", [1, 3])
def test_there_are_as_many_threads_as_asked_for_and_the_text_stays(
    artifact: Path, greedy: dict[str, str], threads: int
) -> None:
    with translating(artifact, "--threads", str(threads)) as conversation:
        conversation.send(lines_of(TEXTS))
        for text in TEXTS:
            assert conversation.read_line() == f"{greedy[text]}\n"
        # This one, the others, and as many of ExecuTorch's pool, which programs of XNNPACK use.
        tasks = list(Path(f"/proc/{conversation.process.pid}/task").iterdir())
        assert len(tasks) == 2 * threads - 1
        assert conversation.end() == 0


def test_a_maximum_length_is_that_of_generate(artifact: Path, greedy: dict[str, str]) -> None:
    tokenizer = ps.Tokenizer.open(artifact)
    ids = [tokenizer.encode(text) for text in TEXTS]
    sequences = ps.load(artifact).generate(ids, num_beams=1, max_length=4).sequences
    assert max(map(len, sequences)) == 4
    done = polystate("translate", artifact, "--beam", 1, "--max-length", 4, *TEXTS)
    assert done.stdout == lines_of([tokenizer.decode(sequence) for sequence in sequences])
    assert done.stdout != lines_of([greedy[text] for text in TEXTS])


@pytest.mark.parametrize("text", ["", "\n", "\n\n \n", "\u3000\n\u00a0\u200b\n"])
def test_a_blank_line_gives_a_blank_line(artifact: Path, text: str) -> None:
    done = polystate("translate", artifact, input=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "\n" * text.count("\n")


def test_bytes_that_are_no_text_are_translated_as_such(artifact: Path) -> None:
    done = polystate(
        "translate", artifact, "--beam", 1, "--json", input=b"Hi \xff\xfe\nA\0B\n", text=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    for line in done.stdout.decode().splitlines():
        (translation,) = json.loads(line)["translations"]
        assert isinstance(translation["text"], str)


def test_bytes_that_are_no_utf_8_are_read_as_replacement_characters(artifact: Path) -> None:
    found = polystate("translate", artifact, input=b"Hi \xff there\n", text=False)
    expected = polystate("translate", artifact, input="Hi \ufffd there\n")
    assert found.stdout.decode() == expected.stdout


def test_an_empty_argument_is_a_blank_line(artifact: Path) -> None:
    done = polystate("translate", artifact, "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


def test_a_setting_without_effect_is_accepted_with_a_warning(
    artifact: Path, greedy: dict[str, str]
) -> None:
    done = polystate("translate", artifact, "--beam", 1, "--set", "use_cache=false", TEXTS[0])
    assert (done.returncode, done.stdout) == (0, lines_of([greedy[TEXTS[0]]]))
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("polystate: warning: 'use_cache'")


def test_n_best_are_lines_or_one_object(artifact: Path) -> None:
    arguments = ["translate", artifact, "--beam", 4, "--n-best", 3, "--scores"]
    lines = [line.split("\t") for line in polystate(*arguments, "I like it.").stdout.splitlines()]
    scores = [float(score) for score, _ in lines]
    assert len(lines) == 3
    assert scores == sorted(scores, reverse=True)
    json_line = polystate(*arguments[:-1], "--json", "I like it.").stdout
    translations = json.loads(json_line)["translations"]
    assert [each["text"] for each in translations] == [text for _, text in lines]
    assert [each["score"] for each in translations] == pytest.approx(scores)


def test_a_blank_line_among_n_best_gives_one_blank_line(artifact: Path) -> None:
    arguments = ["translate", artifact, "--beam", 2, "--n-best", 2]
    best = polystate(*arguments, TEXTS[0], TEXTS[1]).stdout.splitlines()
    assert len(best) == 4
    done = polystate(*arguments, input=f"{TEXTS[0]}\n\n{TEXTS[1]}\n")
    assert done.stdout.splitlines() == [*best[:2], "", *best[2:]]


def test_a_stream_is_the_greedy_text(artifact: Path, greedy: dict[str, str]) -> None:
    done = polystate("translate", artifact, "--stream", *TEXTS)
    assert done.stdout == lines_of([greedy[text] for text in TEXTS])


def test_settings_count_in_the_order_of_the_command_line(artifact: Path) -> None:
    def score(*arguments: object) -> str:
        done = polystate("translate", artifact, "--scores", *arguments, "I like it.")
        assert (done.returncode, done.stderr) == (0, "")
        return str(done.stdout)

    penalty = ["--set", "length_penalty=2", "--set", "length_penalty=0"]
    assert score("--beam", 2, *penalty) == score("--beam", 2, "--set", "length_penalty=0")
    refused = polystate("translate", artifact, "--scores", "--beam", 2, "--set", "num_beams=1", "x")
    assert refused.returncode == 4
    assert "--beam 4" in refused.stderr


def test_a_text_that_is_too_long_is_refused_by_its_line_or_cut(artifact: Path) -> None:
    long = "word " * 100_000
    refused = polystate("translate", artifact, "--beam", 1, input=f"\n{long}\nHello.\n")
    assert refused.returncode == 4
    assert "line 2 has 100001 tokens, and the model takes 256" in refused.stderr
    argument = polystate("translate", artifact, "--beam", 1, "Hello.", long[:2000])
    assert "text 2 has 401 tokens" in argument.stderr
    cut = polystate("translate", artifact, "--beam", 1, "--truncate", input=f"{long}\nHello.\n")
    assert (cut.returncode, cut.stdout.count("\n")) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--beam", "0"], 2, "'num_beams': it must be a whole number from 1"),
        (["--beam", "four"], 2, 'and is "four"'),
        (["--beam", "99999999999999999999"], 2, "num_beams"),
        (["--beam", "65"], 4, "num_beams is 65"),
        (["--beam", "1", "--n-best", "2"], 4, "num_return_sequences"),
        (["--beam", "2", "--n-best", "3"], 4, "num_beams is 2"),
        (["--beam", "1", "--scores"], 4, "--beam 4"),
        (["--max-length", "1"], 4, "leaves no token to generate"),
        (["--max-length", "100000"], 4, "room for sequences of 256 tokens"),
        (["--stream", "--set", "num_beams=4"], 4, "a stream is of one sequence"),
        (["--stream", "--json"], 2, "--json"),
        (["--stream", "--beam", "2", "--scores"], 2, "--scores"),
        (["--json", "--beam", "2", "--scores"], 2, "--scores"),
        (["--set", "num_beams"], 2, "NAME=VALUE is needed"),
        (["--set", "beams=4"], 2, "'beams': there is no such field"),
        (["--set", "bad_words_ids=[[1,"], 2, "bad_words_ids"),
        (["--set", "bad_words_ids=[[999999]]"], 4, "there is no token 999999"),
        (["--set", "top_h=3"], 2, "'top_h': 3 is not supported"),
        (["--threads", "0"], 2, "--threads"),
        (["--file", "x"], 2, "--file"),
    ],
)
def test_a_mistake_is_an_exit_status(
    artifact: Path, arguments: list[str], status: int, message: str
) -> None:
    done = polystate("translate", artifact, *arguments, "Hi")
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.parametrize("file", ["none", "."])
def test_a_file_that_cannot_be_read_is_an_error(artifact: Path, file: str, tmp_path: Path) -> None:
    done = polystate("translate", artifact, "--file", tmp_path / file)
    assert (done.returncode, done.stdout) == (4, "")
    assert "cannot be read" in done.stderr


def test_an_artifact_that_generates_nothing_is_refused(artifact: Path, tmp_path: Path) -> None:
    assert polystate("translate", tmp_path / "none", "Hi").returncode == 3
    assert polystate("translate", tmp_path, "Hi").returncode == 3


def test_it_stops_when_its_reader_goes_away(artifact: Path) -> None:
    shell = f"yes Hello. | '{POLYSTATE}' translate '{artifact}' --beam 1 | head -n 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1


def test_a_full_disk_is_an_error(artifact: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = polystate("translate", artifact, "--beam", 1, "Hello.", stdout=full)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr


def test_an_interrupt_keeps_what_was_answered(artifact: Path) -> None:
    def take_interrupts() -> None:  # what runs in the background may have been told to ignore them
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with translating(artifact, preexec_fn=take_interrupts) as conversation:
        conversation.send("Hello.\n")
        assert conversation.read_line().strip()
        conversation.process.send_signal(signal.SIGINT)
        assert conversation.process.wait(timeout=60) == -signal.SIGINT


SHORT_TEXTS = ["Hello.", "I know.", "Run!", "Thanks.", "Why?", "Yes.", ""]


def short_lines(count: int) -> Iterator[str]:
    chance = random.Random(0)
    return (chance.choice(SHORT_TEXTS) for _ in range(count))


def peak_bytes(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    (kilobytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kilobytes) << 10


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.exhaustive)])
def test_a_long_pipe_is_answered_in_order_with_the_memory_of_a_short_one(
    artifact: Path, count: int
) -> None:
    options = ["--max-length", "3", "--threads", "1"]
    done = polystate("translate", artifact, "--beam", 1, *options, *SHORT_TEXTS)
    answers = done.stdout.splitlines()
    assert len(set(answers)) == len(SHORT_TEXTS)
    answer_of = dict(zip(SHORT_TEXTS, answers, strict=True))
    with translating(artifact, *options) as conversation:

        def write(lines: Iterator[str]) -> None:
            conversation.send("".join(f"{line}\n" for line in lines))

        def read(lines: Iterator[str]) -> None:
            for number, line in enumerate(lines, start=1):
                assert conversation.read_line() == f"{answer_of[line]}\n", f"line {number}"

        def answer(lines: int) -> int:
            """The peak once these lines are answered."""
            writer = threading.Thread(target=write, args=(short_lines(lines),))
            writer.start()
            read(short_lines(lines))
            writer.join()
            return peak_bytes(conversation.process)

        peak = answer(8_000)  # groups of lines have grown to their largest
        assert answer(count) - peak < 2 << 20
        assert conversation.end() == 0
