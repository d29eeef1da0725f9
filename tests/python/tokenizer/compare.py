"""Compares a tokenizer of the `tokenizers` library with polystate's of the same file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from tokenize_lines import opened
from tokenizers import Encoding, Tokenizer


def in_bytes(text: str, offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Turn offsets in characters, which Python has, into offsets in bytes."""
    starts = [0, *accumulate(len(character.encode()) for character in text)]
    return [[starts[begin], starts[end]] for begin, end in offsets]


def described(encoding: Encoding, text: str) -> dict[str, Any]:
    """Return what polystate gives for an encoding of one text."""
    return {
        "ids": encoding.ids,
        "offsets": in_bytes(text, encoding.offsets),
        "type_ids": encoding.type_ids,
        "special_tokens_mask": encoding.special_tokens_mask,
        "attention_mask": encoding.attention_mask,
        "overflowing": [described(part, text) for part in encoding.overflowing],
    }


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    """Save a tokenizer into a folder of its own."""
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def changed(tokenizer: Tokenizer, **model: Any) -> Tokenizer:
    """Return a tokenizer with other settings of its model."""
    content = json.loads(tokenizer.to_str())
    content["model"].update(model)
    return Tokenizer.from_str(json.dumps(content))


def assert_encodes_alike(tokenizer: Tokenizer, path: Path, lines: list[str]) -> list[Encoding]:
    """Check every field of each line's encoding."""
    wanted = [tokenizer.encode(line) for line in lines]
    found = opened(path, ({"text": line, "offsets": True} for line in lines))
    for line, encoding, answer in zip(lines, wanted, found, strict=True):
        assert answer == described(encoding, line), line
    return wanted


def assert_decodes_alike(tokenizer: Tokenizer, path: Path, all_ids: list[list[int]]) -> None:
    """Check the text of ids, at once and token by token, with and without special tokens."""
    for skip in (True, False):
        wanted = tokenizer.decode_batch(all_ids, skip_special_tokens=skip)
        requests = [{"ids": ids, "skip_special_tokens": skip} for ids in all_ids]
        found = opened(path, requests)
        assert [answer.get("text") for answer in found] == wanted
        streamed = opened(path, ({**request, "stream": True} for request in requests))
        assert ["".join(answer["parts"]) for answer in streamed] == wanted


def assert_alike(tokenizer: Tokenizer, folder: Path, lines: list[str]) -> None:
    """Check encoding and decoding."""
    path = saved(tokenizer, folder)
    tokenizer = Tokenizer.from_file(str(path))  # without what a file does not hold
    encodings = assert_encodes_alike(tokenizer, path, lines)
    assert_decodes_alike(tokenizer, path, [encoding.ids for encoding in encodings])
