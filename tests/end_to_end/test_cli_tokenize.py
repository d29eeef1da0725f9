"""``polystate tokenize``: the ids and the text of the `tokenizers` library, in a shell."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.end_to_end.command_line import POLYSTATE, polystate

TEXTS = ["Hello, world", "", "naïve café 😀", "  two  spaces", "a</s>b", "[CLS]", "[]", "[a, b]"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["</s>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", None, [("</s>", 0)])
    directory = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture(scope="module")
def theirs(path: Path) -> Tokenizer:
    return Tokenizer.from_file(str(path / "tokenizer.json"))


def ids_line(ids: list[int]) -> str:
    return " ".join(map(str, ids)) + "\n"


def test_each_text_is_a_line_of_ids(path: Path, theirs: Tokenizer) -> None:
    done = polystate("tokenize", path, *TEXTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(ids_line(theirs.encode(text).ids) for text in TEXTS)


def test_lines_of_standard_input_are_answered_by_lines(path: Path, theirs: Tokenizer) -> None:
    done = polystate("tokenize", path, input="\n".join(TEXTS))
    assert done.stdout == "".join(ids_line(theirs.encode(text).ids) for text in TEXTS)


def test_each_line_is_answered_before_the_next_is_read(path: Path) -> None:
    command = [POLYSTATE, "tokenize", path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(b"Hello\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_json_has_tokens_and_offsets_in_bytes(path: Path, theirs: Tokenizer) -> None:
    text = "naïve café 😀"
    answer = json.loads(polystate("tokenize", path, "--json", text).stdout)
    encoding = theirs.encode(text)
    byte_of = [len(text[:i].encode()) for i in range(len(text) + 1)]
    assert answer == {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [[byte_of[begin], byte_of[end]] for begin, end in encoding.offsets],
    }


def test_ids_become_text_again(path: Path, theirs: Tokenizer) -> None:
    for text in TEXTS:
        ids = theirs.encode(text).ids
        plain = polystate("tokenize", path, "--decode", *ids)
        assert plain.stdout == theirs.decode(ids) + "\n"
        kept = polystate("tokenize", path, "--decode", "--keep-special-tokens", *ids)
        assert kept.stdout == theirs.decode(ids, skip_special_tokens=False) + "\n"


def test_its_own_output_is_its_input(path: Path) -> None:
    encoded = polystate("tokenize", path, "--no-special-tokens", *TEXTS[:4]).stdout
    decoded = polystate("tokenize", path, "--decode", "--json", input=encoded).stdout
    assert [json.loads(line)["text"] for line in decoded.splitlines()] == TEXTS[:4]


def test_special_tokens_are_as_the_policy_says(path: Path, theirs: Tokenizer) -> None:
    def ids(policy: str) -> list[int]:
        done = polystate("tokenize", path, "--special-tokens", policy, "a</s>b")
        return [int(number) for number in done.stdout.split()]

    assert ids("accept") == theirs.encode("a</s>b").ids
    assert ids("accept").count(0) == 2
    assert ids("plain_text").count(0) == 1
    refused = polystate("tokenize", path, "--special-tokens", "refuse", "a</s>b")
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "'</s>', at byte 1" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--decode", "1", "x"], 4, "'x' is no id of a token"),
        (["--decode", "99999"], 4, "99999"),
        (["--special-tokens", "maybe", "x"], 2, "'accept', 'plain_text' or 'refuse'"),
        (["--no-such-option"], 2, "--no-such-option"),
        (["--decode", "--no-special-tokens", "1"], 2, "--no-special-tokens"),
        (["--decode", "--special-tokens", "accept", "1"], 2, "--special-tokens"),
        (["--decode", "--target-language", "1"], 2, "--target-language"),
        (["--keep-special-tokens", "x"], 2, "--decode"),
        (["--target-language", "x"], 4, "target_language"),
        (["--pattern", ".", "x"], 4, "tik_token"),
        (
            ["--pattern", ".", "--special-token", "<a>=300", "--special-token", "<a>=301", "x"],
            2,
            "'<a>' is given twice",
        ),
    ],
)
def test_a_mistake_is_an_exit_status(
    path: Path, arguments: list[str], status: int, message: str
) -> None:
    done = polystate("tokenize", path, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_a_mistake_in_a_pipe_names_its_line(path: Path) -> None:
    done = polystate("tokenize", path, "--decode", input="1 2\n3 x\n")
    assert done.returncode == 4
    assert "line 2: 'x'" in done.stderr


def test_a_missing_or_damaged_file_is_the_artifact_s_fault(path: Path, tmp_path: Path) -> None:
    assert polystate("tokenize", tmp_path / "none", "x").returncode == 3
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text((path / "tokenizer.json").read_text(encoding="utf-8")[:-20])
    done = polystate("tokenize", damaged, "x")
    assert (done.returncode, done.stdout) == (3, "")
    assert "tokenizer.json" in done.stderr


def test_standard_input_that_cannot_be_read_is_an_error(path: Path, tmp_path: Path) -> None:
    with Path("/proc/self/mem").open("rb") as unreadable:
        done = polystate("tokenize", path, stdin=unreadable)
    assert done.returncode == 4


def test_it_stops_when_its_reader_goes_away(path: Path) -> None:
    shell = f"yes | '{POLYSTATE}' tokenize '{path}' | head -n 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_output_that_does_not_block_is_waited_for(path: Path, theirs: Tokenizer) -> None:
    text = "Hello, world " * 8000
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen([POLYSTATE, "tokenize", path, text], stdout=writing) as process:
        os.close(writing)
        time.sleep(0.3)  # the pipe is full, long before its reader comes
        with os.fdopen(reading) as answer:
            assert answer.read() == ids_line(theirs.encode(text).ids)
    assert process.returncode == 0


def test_a_full_disk_is_an_error(path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = polystate("tokenize", path, input="a\nb\n", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "polystate: cannot write to standard output: No space left on device\n"


def test_a_tiktoken_file_needs_a_pattern_or_a_known_name(tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab"]
    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    path = tmp_path / "own.tiktoken"
    path.write_text("\n".join(lines))
    unknown = polystate("tokenize", path, "ab")
    assert unknown.returncode == 4
    assert "own.tiktoken" in unknown.stderr
    assert polystate("tokenize", path, "--pattern", "[a-z]+", "ab").stdout == "256\n"
    assert polystate("tokenize", path, "--pattern", "[a-z]", "ab").stdout == "97 98\n"
    special = ["--pattern", "[a-z]", "--special-token", "<a=b>=300"]
    assert polystate("tokenize", path, *special, "a<a=b>").stdout == "97 300\n"
    assert polystate("tokenize", path, "--special-token", "<a>=300", "a").returncode == 2
    assert (
        polystate("tokenize", path, "--pattern", ".", "--special-token", "x", "a").returncode == 2
    )
