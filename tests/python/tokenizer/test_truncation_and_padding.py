"""Truncation and padding of tokenizer.json."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, processors

from tests.python.tokenizer.compare import (
    assert_encodes_alike,
    assert_encodes_pairs_alike,
    described,
    saved,
    with_parts,
)
from tests.python.tokenizer.tokenize_lines import opened

TEMPLATE = processors.TemplateProcessing(
    "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 1), ("[SEP]", 2)]
)


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("stride", [0, 2])
def test_long_texts_are_cut_into_pieces(
    direction: str, stride: int, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, post_processor=TEMPLATE)
    tokenizer.enable_truncation(12, stride=stride, direction=direction)
    path = saved(tokenizer, tmp_path)
    assert_encodes_alike(tokenizer, path, lines)
    assert_encodes_pairs_alike(tokenizer, path, lines[::5])


def test_nothing_is_kept_where_added_tokens_take_all_the_room(
    word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, post_processor=TEMPLATE)
    tokenizer.enable_truncation(2)
    assert_encodes_alike(tokenizer, saved(tokenizer, tmp_path), lines)


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("strategy", ["only_first", "only_second"])
def test_one_text_of_a_pair_is_cut_or_too_short_for_it(
    strategy: str, direction: str, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(word_piece)
    tokenizer.enable_truncation(12, strategy=strategy, direction=direction)
    texts = list(pairwise(lines))
    answers = opened(saved(tokenizer, tmp_path), ({"text": a, "pair": b} for a, b in texts))
    failures = 0
    for (a, b), answer in zip(texts, answers, strict=True):
        try:
            wanted = tokenizer.encode(a, b)
        except Exception:
            assert "too many" in answer["error"]
            failures += 1
        else:
            assert answer == described(wanted), (a, b)
    assert 0 < failures < len(texts)


@pytest.mark.parametrize(
    "padding",
    [
        {"length": 16},
        {"length": 16, "direction": "left", "pad_id": 4, "pad_type_id": 9},
        {"pad_to_multiple_of": 8, "pad_id": 4},
        {"length": 10, "pad_to_multiple_of": 4, "direction": "left"},
    ],
    ids=str,
)
def test_short_texts_are_padded(
    padding: dict[str, Any], word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, post_processor=TEMPLATE)
    tokenizer.enable_padding(**padding)
    tokenizer.enable_truncation(12, stride=2)
    path = saved(tokenizer, tmp_path)
    assert_encodes_alike(tokenizer, path, lines)
    assert_encodes_pairs_alike(tokenizer, path, lines[::5])


def test_an_empty_text_is_padded(word_piece: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_str(word_piece)
    tokenizer.enable_padding(length=3)
    assert_encodes_alike(tokenizer, saved(tokenizer, tmp_path), [""])


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_are_padded_together(
    threads: int, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, post_processor=TEMPLATE)
    tokenizer.enable_padding(pad_id=4, pad_to_multiple_of=8)
    path = saved(tokenizer, tmp_path)
    batches = [lines[i : i + 100] for i in range(0, len(lines), 100)]
    requests = ({"batch": batch, "threads": threads, "offsets": True} for batch in batches)
    for batch, answers in zip(batches, opened(path, requests), strict=True):
        wanted = tokenizer.encode_batch(batch)
        for line, encoding, answer in zip(batch, wanted, answers, strict=True):
            assert answer == described(encoding, line)
