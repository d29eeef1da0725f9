"""``polystate chat``: through a pipe, and in a real terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import polystate as ps
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.support.toy_chat import toy_chat
from tests.support.toy_completion import toy_completion
from tests.support.toy_translation import toy_translation

TURNS = ["Where is Brest?", "Ça va", "/undo", "No."]
NEW = ["--max-new-tokens", "8"]
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def artifact() -> Path:
    return toy_chat() / "toy"


@pytest.fixture
def expected(artifact: Path) -> list[str]:
    """The answers to TURNS, after a message of the system."""
    chat = ps.Conversation(artifact, "Be kind.", max_new_tokens=8)
    answers = [chat.ask(TURNS[0]), chat.ask(TURNS[1])]
    chat.undo()
    return [*answers, chat.ask(TURNS[3])]


def test_each_line_of_a_pipe_is_a_turn_or_a_command(artifact: Path, expected: list[str]) -> None:
    lines = "\n\n".join(TURNS) + "\n"
    done = polystate("chat", artifact, *NEW, "--system", "Be kind.", input=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(text.replace("\n", " ") + "\n" for text in expected)
    given = "/system Be kind.\n/set max_new_tokens=8\n" + lines + "/stats\n/exit\nHi\n"
    *answers, stats = map(
        json.loads, polystate("chat", artifact, "--json", input=given).stdout.splitlines()
    )
    assert [answer["text"] for answer in answers] == expected
    assert answers[0]["finish_reason"] == "length"
    assert answers[1]["usage"]["cached_tokens"] > 0
    assert stats["stats"]["messages"] == 5


def test_conversations_are_saved_and_loaded(
    artifact: Path, expected: list[str], tmp_path: Path
) -> None:
    first = "/system Be kind.\nWhere is Brest?\n/save talk\n"
    polystate("chat", artifact, *NEW, input=first, cwd=tmp_path)
    for command in (["--load", "talk"], []):
        turns = "Ça va\n" if command else "/load talk\nÇa va\n"
        done = polystate("chat", artifact, *NEW, *command, input=turns, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (expected[1].replace("\n", " ") + "\n", "")


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ("Hi\n/nothing\n", "turn 2: there is no command /nothing"),
        ("/undo\n", "turn 1: there is no turn to take back"),
        ("/retry\n", "no message of a user"),
        ("/set heat=1\n", "heat"),
        ("/set temperature\n", "NAME=VALUE"),
        ("/save\n", "the name of a file"),
        ("/help me\n", "takes nothing behind it"),
        ("/load none\n", "none"),
        (f"/load {__file__}\n", "test_cli_chat.py"),
        ("word " * 300 + "\n", "too many"),
    ],
)
def test_a_mistake_ends_a_pipe(artifact: Path, turns: str, message: str) -> None:
    done = polystate("chat", artifact, *NEW, input=turns)
    assert done.returncode == 4
    assert message in done.stderr


@pytest.mark.parametrize("file", ["none", __file__])
def test_a_file_that_is_no_conversation_is_an_input_that_is_not_taken(
    artifact: Path, file: str
) -> None:
    done = polystate("chat", artifact, "--load", file, input="Hi\n")
    assert (done.returncode, done.stdout) == (4, "")
    assert file in done.stderr


@pytest.mark.parametrize("option", ["--load", "--tools", "--json-schema", "--grammar"])
@pytest.mark.parametrize("form", ["{}=", "{} "])
def test_an_empty_name_of_a_file_is_no_lack_of_the_option(
    artifact: Path, option: str, form: str
) -> None:
    given = form.format(option).split(" ")
    done = polystate("chat", artifact, *given, input="Hi\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert option in done.stderr


def test_control_c_ends_a_conversation_through_a_pipe(artifact: Path, expected: list[str]) -> None:
    command = [str(POLYSTATE), "chat", str(artifact), *NEW, "--system", "Be kind."]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs lack it
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(TURNS[0] + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == expected[0].replace("\n", " ") + "\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) in (-signal.SIGINT, 128 + signal.SIGINT)


def test_prompts_for_a_terminal_stay_out_of_a_piped_output(
    artifact: Path, expected: list[str]
) -> None:
    terminal, inner = pty.openpty()
    try:
        with subprocess.Popen(
            [str(POLYSTATE), "chat", str(artifact), *NEW, "--system", "Be kind."],
            stdin=inner,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            os.write(terminal, TURNS[0].encode() + b"\n\x04")
            stdout, stderr = process.communicate(timeout=60)
    finally:
        os.close(inner)
        os.close(terminal)
    assert stdout == expected[0].replace("\n", " ") + "\n"
    assert stderr == "> > \n"
    assert process.returncode == 0


def test_models_are_those_for_chats() -> None:
    models = ((toy_completion() / "toy", "no chat template"), (toy_translation(), "encoder"))
    for model, message in models:
        done = polystate("chat", model, input="Hi\n")
        assert (done.returncode, done.stdout) == (5, "")
        assert message in done.stderr


class Terminal:
    """The command in a terminal of its own, and what that has shown."""

    def __init__(self, *arguments: object, env: dict[str, str]) -> None:
        self.edits = env["TERM"] != "dumb"
        self.reader, inner = pty.openpty()
        self.process = subprocess.Popen(
            [str(POLYSTATE), "chat", *map(str, arguments)],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "LC_ALL": "C.UTF-8", **env},
        )
        os.close(inner)
        self.raw = b""
        self.seen = 0  # characters of what was shown

    def type(self, keys: str) -> None:
        os.write(self.reader, keys.encode())

    def wait_for(self, text: str) -> str:
        """What was shown since the last call, up to a text and with it; without escapes."""
        end = time.monotonic() + 60
        while True:
            shown = ESCAPES.sub(b"", self.raw).decode(errors="replace").replace("\r", "")
            at = shown.find(text, self.seen)
            if at >= 0:
                begin, self.seen = self.seen, at + len(text)
                if self.edits and text.endswith("> "):
                    self.wait_for_keys()
                return shown[begin : self.seen]
            assert time.monotonic() < end and self.read(), f"{text!r}: {shown[self.seen :]!r}"

    def wait_for_keys(self) -> None:
        """Wait until a line editor reads keys, which is soon after it has shown its prompt."""
        end = time.monotonic() + 60
        while termios.tcgetattr(self.reader)[3] & termios.ICANON:
            assert time.monotonic() < end and self.read()

    def read(self) -> bool:
        """Read what is shown now, or wait a moment; False once the command has ended."""
        if not select.select([self.reader], [], [], 0.1)[0]:
            return True
        try:
            self.raw += os.read(self.reader, 65536)
        except OSError:
            return False
        return True

    def end(self) -> int:
        """The exit status of a command that ends."""
        while self.read():
            pass
        return self.process.wait(timeout=60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        os.close(self.reader)
        self.process.wait(timeout=60)


@pytest.fixture(params=["xterm-256color", "dumb"])
def terminal(request: pytest.FixtureRequest, artifact: Path, tmp_path: Path) -> Iterator[Terminal]:
    """Once with libedit, and once as a plain reader of lines."""
    env = {"TERM": request.param, "POLYSTATE_HISTORY": str(tmp_path / "history")}
    opened = Terminal(artifact, *NEW, "--system", "Be kind.", env=env)
    yield opened
    opened.close()


def test_a_terminal_shows_answers_takes_pastes_and_ends(
    terminal: Terminal, expected: list[str], artifact: Path
) -> None:
    terminal.wait_for("> ")
    assert b"\x1b[?2004h" in terminal.raw
    terminal.type("Where is Brest?\r")
    assert first_line(expected[0]) in terminal.wait_for("\n> ")
    terminal.type("/undo\r")
    terminal.wait_for("taken back.\n> ")
    chat = ps.Conversation(artifact, "Be kind.", max_new_tokens=8)
    answer = chat.ask("one\ntwo")
    terminal.type("\x1b[200~one\rtwo\x1b[201~\r")
    assert first_line(answer) in terminal.wait_for("\n> ")
    terminal.type("/nothing\r")
    terminal.wait_for("there is no command")
    terminal.wait_for("\n> ")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_control_c_stops_an_answer_and_keeps_the_conversation(
    terminal: Terminal, artifact: Path
) -> None:
    terminal.wait_for("> ")
    terminal.type("some text")
    terminal.wait_for("some text")
    terminal.type("\x03")  # leaves it
    terminal.wait_for("\n> ")
    (end,) = set(ps.Conversation(artifact).eos_token_id) - {1}
    terminal.type(f"/set suppress_tokens=[1,{end}]\r")
    terminal.wait_for("\n> ")
    terminal.type("/set max_new_tokens=150\r")
    terminal.wait_for("\n> ")
    shown = ""
    for milliseconds in range(50):  # a small model answers soon
        terminal.type("Where is Brest?\r")
        terminal.wait_for("Where is Brest?\n")
        time.sleep(milliseconds / 1000)
        terminal.type("\x03/stats\r")
        shown = terminal.wait_for("room for")
        if "(stopped)" in shown:
            break
        terminal.type("/reset\r")
        terminal.wait_for("begins anew.\n> ")
    assert "(stopped)" in shown
    assert "3 messages of" in shown
    terminal.type("/exit\r")
    assert terminal.end() == 0


def test_what_a_terminal_shows_is_edited_and_remembered(artifact: Path, tmp_path: Path) -> None:
    """By tmux, whose screen is what a person would see."""
    tmux = ["tmux", "-f", "/dev/null", "-S", str(tmp_path / "socket")]
    command = f"POLYSTATE_HISTORY={tmp_path}/history {POLYSTATE} chat {artifact} --max-new-tokens 8"
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}

    def run(*arguments: str) -> str:
        return subprocess.run(
            [*tmux, *arguments], env=env, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def wait_for(text: str) -> str:
        end = time.monotonic() + 60
        while text not in (screen := run("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.05)
        return screen

    run("new-session", "-d", "-x", "80", "-y", "24", command)
    try:
        wait_for("\n>")
        run("send-keys", "/statz", "BSpace", "s", "Left", "Left", "End", "Enter")
        wait_for("> /stats\n0 messages of 0 tokens")
        run("set-buffer", "/system one\ntwo")
        run("paste-buffer", "-p")
        wait_for("> /system one\ntwo")
        run("send-keys", "Enter")
        wait_for("begins with this.\n>")
        run("send-keys", "Up", "Up")
        wait_for("begins with this.\n> /stats")
        run("send-keys", "Enter")
        wait_for("1 messages of")
    finally:
        run("kill-server")


def first_line(answer: str) -> str:
    """What a terminal is sure to show as it is."""
    return re.split(r"[\n\t\ufffd]|[^\x20-\x7e]", answer)[0]
