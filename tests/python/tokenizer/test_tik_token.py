"""TikToken files: ids and text equal those of the `tiktoken` library."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken_ext.openai_public

from tests.python.tokenizer.compare import assert_gives_texts, assert_same, made_up_ids
from tests.python.tokenizer.tokenize_lines import opened, run

ENCODINGS = sorted(tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS)
# Those that a file's name stands for.
KNOWN = ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]


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


def settings(
    encoding: str, ranks: dict[bytes, int], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return what the library makes an encoding of, with these ranks in place of its own."""
    module = tiktoken_ext.openai_public
    monkeypatch.setattr(module, "load_tiktoken_bpe", lambda *_, **__: ranks)
    monkeypatch.setattr(module, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: ranks)
    made = module.ENCODING_CONSTRUCTORS[encoding]()
    return {key: made[key] for key in ("name", "pat_str", "mergeable_ranks", "special_tokens")}


def with_special_tokens(lines: list[str], special: dict[str, int]) -> list[str]:
    """Return the lines, and some of them with special tokens among them."""
    tokens = list(special)
    between = [
        f"{line}{tokens[i % len(tokens)]} x{tokens[-1 - i % len(tokens)]}{line}"
        for i, line in enumerate(lines[::7])
    ]
    return lines + between


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_ids_and_text_are_the_library_s(
    encoding: str,
    ranks: dict[bytes, int],
    path: Path,
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = settings(encoding, ranks, monkeypatch)
    theirs = tiktoken.Encoding(**made)
    special = made["special_tokens"]
    options = ["--pattern", made["pat_str"]]
    options += [part for token, id in special.items() for part in ("--special", f"{token}={id}")]
    texts = with_special_tokens(lines, special)

    encoded = theirs.encode_batch(texts, allowed_special="all")
    answers = opened(path, ({"text": text} for text in texts), *options)
    assert_same([answer["ids"] for answer in answers], encoded, texts)

    plain = opened(
        path, ({"text": text, "special_tokens": "plain_text"} for text in texts), *options
    )
    wanted = theirs.encode_ordinary_batch(texts)
    assert_same([answer["ids"] for answer in plain], wanted, texts)

    refused = opened(path, ({"text": text, "special_tokens": "refuse"} for text in texts), *options)
    for text, answer, ids, ordinary in zip(texts, refused, encoded, wanted, strict=True):
        if ids == ordinary:
            assert answer["ids"] == ids
        else:
            with pytest.raises(ValueError, match="disallowed special token"):
                theirs.encode(text)
            assert "the text has the special token" in answer["error"]

    # The library decodes an id of two names to any of them.
    names = Counter(special.values())
    rows = [*encoded, *made_up_ids([*ranks.values(), *special.values()])]
    ids = [[id for id in row if names[id] < 2] for row in rows]
    kept = [[id for id in row if id < len(ranks)] for row in ids]
    texts_of_ids = {False: theirs.decode_batch(ids), True: theirs.decode_batch(kept)}
    assert_gives_texts(path, ids, texts_of_ids, *options)


@pytest.mark.parametrize("encoding", KNOWN)
def test_a_known_name_stands_for_its_expression_and_special_tokens(
    encoding: str,
    path: Path,
    ranks: dict[bytes, int],
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = path.rename(path.with_name(f"{encoding}.tiktoken"))
    made = settings(encoding, ranks, monkeypatch)
    theirs = tiktoken.Encoding(**made)
    texts = with_special_tokens(lines, made["special_tokens"])
    answers = opened(known, ({"text": text} for text in texts))
    wanted = theirs.encode_batch(texts, allowed_special="all")
    assert_same([answer["ids"] for answer in answers], wanted, texts)


# Of Kimi: letters of other scripts than Han.
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_ENDING = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = "|".join(
    (
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDING}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
CLASSES = [
    KIMI,
    r"[a-z--[aeiou]--x]+|[\w&&[^\d_]--\p{Lu}]|[--/]+|[+--a]|(?s:.)",
    r"[a-z&&b-y&&[^c]d-x]+|[^\w&&[^\s]]+|[&&a]|[a&&]|(?i:[a-z&&[^E]])|[!-&&-]|(?s:.)",
]


@pytest.mark.parametrize("expression", CLASSES)
def test_classes_may_be_intersected_and_left_out(
    expression: str, ranks: dict[bytes, int], path: Path, lines: list[str]
) -> None:
    theirs = tiktoken.Encoding(
        "classes", pat_str=expression, mergeable_ranks=ranks, special_tokens={}
    )
    texts = [*lines, "你好abc你ABc 々x", "a-/+--!&e E", "Привет, Мир's 日本语 ÀÉß"]
    answers = opened(path, ({"text": text} for text in texts), "--pattern", expression)
    assert_same([answer["ids"] for answer in answers], theirs.encode_batch(texts), texts)


def test_a_file_of_unknown_name_needs_an_expression(path: Path) -> None:
    (answer,) = run(path, [])
    assert "'vocabulary' is no encoding that is known" in answer["error"]
