"""Compares a tokenizer of the `tokenizers` library with polystate's of the same file."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from tests.python.tokenizer.tokenize_lines import opened


@functools.cache
def starts(text: str) -> list[int]:
    """Return where each character starts, in bytes, and the end."""
    return [0, *accumulate(len(character.encode()) for character in text)]


def in_bytes(text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Turn offsets in characters, which Python has, into offsets in bytes, one after the other."""
    flat = chain.from_iterable(offsets)
    return list(flat) if text.isascii() else list(map(starts(text).__getitem__, flat))


def described(encoding: Encoding, text: str | None = None) -> dict[str, Any]:
    """Return what polystate gives for an encoding, with the offsets in `text` if it is given."""
    return {
        "ids": encoding.ids,
        "offsets": [] if text is None else in_bytes(text, encoding.offsets),
        "type_ids": encoding.type_ids,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
        "overflowing": [described(part, text) for part in encoding.overflowing],
    }


def assert_same(found: Sequence[Any], wanted: Sequence[Any], asked: Sequence[Any]) -> None:
    """Check answers, and show the first question that has a wrong one."""
    if found == wanted:
        return
    for answer, expected, question in zip(found, wanted, asked, strict=True):
        assert answer == expected, question


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    """Save a tokenizer into a folder of its own."""
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def with_parts(content: str, **parts: Any) -> Tokenizer:
    """Return the tokenizer of a file, with other normalizers, pre-tokenizers and so on."""
    tokenizer = Tokenizer.from_str(content)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def changed(tokenizer: Tokenizer, **model: Any) -> Tokenizer:
    """Return a tokenizer with other settings of its model."""
    content = json.loads(tokenizer.to_str())
    content["model"].update(model)
    return Tokenizer.from_str(json.dumps(content))


def encoded(tokenizer: Tokenizer, texts: Sequence[Any], special: bool = True) -> list[Encoding]:
    """Encode texts, or pairs, each alone."""
    if tokenizer.padding is None:
        return tokenizer.encode_batch(texts, add_special_tokens=special)
    return [
        tokenizer.encode(*((text,) if isinstance(text, str) else text), add_special_tokens=special)
        for text in texts
    ]


def assert_encodes_alike(tokenizer: Tokenizer, path: Path, lines: list[str]) -> list[Encoding]:
    """Check every field of each line's encoding."""
    encodings = encoded(tokenizer, lines)
    found = opened(path, ({"text": line, "offsets": True} for line in lines))
    assert_same(
        found, [described(e, line) for e, line in zip(encodings, lines, strict=True)], lines
    )
    return encodings


def assert_encodes_pairs_alike(tokenizer: Tokenizer, path: Path, lines: list[str]) -> None:
    """Check each line with the next one, with and without added special tokens."""
    pairs = list(pairwise(lines))
    for special in (True, False):
        questions = [{"text": a, "pair": b, "add_special_tokens": special} for a, b in pairs]
        wanted = [described(encoding) for encoding in encoded(tokenizer, pairs, special)]
        assert_same(opened(path, questions), wanted, questions)


def made_up_ids(vocabulary: Iterable[int], count: int = 500) -> list[list[int]]:
    """Return sequences of ids that no text has."""
    ids = sorted(vocabulary)
    draw = random.Random(5)
    return [[draw.choice(ids) for _ in range(draw.randint(0, 12))] for _ in range(count)]


def assert_decodes_alike(tokenizer: Tokenizer, path: Path, all_ids: list[list[int]]) -> None:
    """Check the text of ids, at once and token by token, with and without special tokens."""
    assert_gives_texts(
        path,
        all_ids,
        {skip: tokenizer.decode_batch(all_ids, skip_special_tokens=skip) for skip in (True, False)},
    )


def assert_gives_texts(
    path: Path, all_ids: list[list[int]], wanted: dict[bool, list[str]], *options: str
) -> None:
    """Check the text of ids, which is `wanted` by whether special tokens are left out."""
    for skip, texts in wanted.items():
        questions = [{"ids": ids, "skip_special_tokens": skip} for ids in all_ids]
        whole = [answer.get("text") for answer in opened(path, questions, *options)]
        assert_same(whole, texts, questions)
        if skip:
            parts = opened(path, ({"ids": ids, "stream": True} for ids in all_ids), *options)
            assert_same(["".join(stream["parts"]) for stream in parts], texts, questions)


def assert_alike(tokenizer: Tokenizer, folder: Path, lines: list[str]) -> None:
    """Check encoding and decoding."""
    path = saved(tokenizer, folder)
    tokenizer = Tokenizer.from_file(str(path))  # without what a file does not hold
    encodings = assert_encodes_alike(tokenizer, path, lines)
    made_up = made_up_ids(tokenizer.get_vocab().values())
    assert_decodes_alike(tokenizer, path, [*(encoding.ids for encoding in encodings), *made_up])
