"""TikToken files: ids and text equal those of the `tiktoken` library."""

from __future__ import annotations

import base64
import inspect
import json
import random
import re
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public
from tokenize_lines import opened, run

SPECIAL = {"<|endoftext|>": 3000, "<|fim|>": 3005}


def pattern_of(encoding: str) -> str:
    """Return the expression that the library has for an encoding."""
    if encoding == "r50k_base":
        return tiktoken_ext.openai_public.r50k_pat_str
    source = inspect.getsource(getattr(tiktoken_ext.openai_public, encoding))
    return "|".join(re.findall(r'r"""(.*?)"""', source))


def bytes_of_characters() -> dict[str, int]:
    """Return the byte that each character of the byte alphabet stands for."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(0x100 + i): byte for i, byte in enumerate(others)
    }


@pytest.fixture(scope="module")
def ranks(byte_level: str) -> dict[bytes, int]:
    alphabet = bytes_of_characters()
    vocabulary = json.loads(byte_level)["model"]["vocab"]
    tokens = [t for t in vocabulary if t not in {"<s>", "</s>", "<|endoftext|>"}]
    return {bytes(alphabet[c] for c in token): i for i, token in enumerate(tokens)}


@pytest.fixture
def path(ranks: dict[bytes, int], tmp_path: Path) -> Path:
    path = tmp_path / "vocabulary.tiktoken"
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("encoding", ["r50k_base", "cl100k_base", "o200k_base"])
def test_ids_and_text_are_the_library_s(
    encoding: str, ranks: dict[bytes, int], path: Path, lines: list[str]
) -> None:
    pattern = pattern_of(encoding)
    theirs = tiktoken.Encoding(
        "test", pat_str=pattern, mergeable_ranks=ranks, special_tokens=SPECIAL
    )
    options = ["--pattern", pattern]
    options += [part for token, id in SPECIAL.items() for part in ("--special", f"{token}={id}")]
    lines = [*lines, *(f"{line}<|endoftext|> x<|fim|>{line}" for line in lines[::7])]

    encoded = [theirs.encode(line, allowed_special="all") for line in lines]
    answers = opened(path, ({"text": line} for line in lines), *options)
    for line, ids, answer in zip(lines, encoded, answers, strict=True):
        assert answer["ids"] == ids, line
    plain = opened(
        path, ({"text": line, "special_tokens": "plain_text"} for line in lines), *options
    )
    for line, answer in zip(lines, plain, strict=True):
        assert answer["ids"] == theirs.encode(line, disallowed_special=()), line

    draw = random.Random(5)
    made_up = [[draw.randrange(len(ranks)) for _ in range(9)] for _ in range(2000)]
    requests = [{"ids": ids, "skip_special_tokens": False} for ids in [*encoded, *made_up]]
    wanted = [theirs.decode(ids) for ids in [*encoded, *made_up]]
    assert [answer["text"] for answer in opened(path, requests, *options)] == wanted
    streamed = opened(path, ({**request, "stream": True} for request in requests), *options)
    assert ["".join(answer["parts"]) for answer in streamed] == wanted


def test_a_file_of_unknown_name_needs_an_expression(path: Path) -> None:
    (answer,) = run(path, [])
    assert "'vocabulary' is no encoding that is known" in answer["error"]


def test_a_known_name_stands_for_its_expression(
    path: Path, ranks: dict[bytes, int], lines: list[str]
) -> None:
    known = path.rename(path.with_name("cl100k_base.tiktoken"))
    theirs = tiktoken.Encoding(
        "test",
        pat_str=pattern_of("cl100k_base"),
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 100257},
    )
    texts = [f"{line}<|endoftext|>" for line in lines[::10]]
    answers = opened(known, ({"text": text} for text in texts))
    assert [a["ids"] for a in answers] == [theirs.encode(t, allowed_special="all") for t in texts]
