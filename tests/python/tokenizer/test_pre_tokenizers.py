"""Pre-tokenizers of tokenizer.json: every kind and option."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import assert_encodes_alike, saved, with_parts

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
KINDS = [
    pre.BertPreTokenizer(),
    pre.CharDelimiterSplit("e"),
    pre.CharDelimiterSplit("é"),
    pre.Digits(individual_digits=True),
    pre.Digits(individual_digits=False),
    pre.FixedLength(length=1),
    pre.FixedLength(length=3),
    *(pre.Punctuation(behavior) for behavior in BEHAVIORS),
    *(pre.Split(" ", behavior, invert) for behavior in BEHAVIORS for invert in (False, True)),
    *(pre.Split(Regex(r"\w+|[^\w\s]+"), behavior, True) for behavior in BEHAVIORS),
    pre.Whitespace(),
    pre.WhitespaceSplit(),
    *(
        pre.Metaspace("▁", scheme, split)
        for scheme, split in product(("always", "first", "never"), (False, True))
    ),
    pre.Metaspace("_", "always", True),
    pre.Sequence([]),
    pre.Sequence([pre.Digits(True), pre.Metaspace("▁", "first"), pre.Punctuation("isolated")]),
]


def assert_splits_alike(tokenizer: Tokenizer, folder: Path, lines: list[str]) -> None:
    """Check ids and offsets: that what becomes a token is the same."""
    path = saved(tokenizer, folder)
    assert_encodes_alike(Tokenizer.from_file(str(path)), path, lines)


@pytest.mark.parametrize("pre_tokenizer", KINDS, ids=repr)
def test_every_pre_tokenizer(
    pre_tokenizer: pre.PreTokenizer, word_level: str, lines: list[str], tmp_path: Path
) -> None:
    assert_splits_alike(with_parts(word_level, pre_tokenizer=pre_tokenizer), tmp_path, lines)


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("regex", [False, True])
def test_byte_level(
    prefix: bool, regex: bool, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    byte_level_split = pre.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    assert_splits_alike(with_parts(byte_level, pre_tokenizer=byte_level_split), tmp_path, lines)


@pytest.mark.parametrize("parts", [[], [pre.Digits(True), pre.Whitespace()]], ids=len)
def test_unicode_scripts(
    parts: list[pre.PreTokenizer], word_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_level, pre_tokenizer=pre.Sequence([pre.UnicodeScripts(), *parts]))
    # The library's scripts are those of Unicode 9, which lacks this character.
    assert_splits_alike(tokenizer, tmp_path, [line.replace("\U0001f9d1", "") for line in lines])
