"""WordPiece, WordLevel and Unigram models of tokenizer.json."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, normalizers
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import assert_alike, changed, with_parts


def test_word_pieces_are_found(word_piece: str, lines: list[str], tmp_path: Path) -> None:
    assert_alike(Tokenizer.from_str(word_piece), tmp_path, lines)


@pytest.mark.parametrize("most", [0, 1, 6])
def test_word_pieces_are_not_looked_for_in_long_words(
    most: int, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = changed(Tokenizer.from_str(word_piece), max_input_chars_per_word=most)
    assert_alike(tokenizer, tmp_path, lines)


def test_word_pieces_may_go_on_after_another_prefix(
    word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = changed(Tokenizer.from_str(word_piece), continuing_subword_prefix="")
    tokenizer.decoder = decoders.WordPiece("", cleanup=False)
    assert_alike(tokenizer, tmp_path, lines)


def test_words_are_found(word_level: str, lines: list[str], tmp_path: Path) -> None:
    assert_alike(Tokenizer.from_str(word_level), tmp_path, lines)


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_the_most_probable_pieces_are_found(
    scheme: str, byte_fallback: bool, unigram: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        unigram,
        normalizer=normalizers.NFKC(),
        pre_tokenizer=pre.Metaspace(prepend_scheme=scheme, split=byte_fallback),
        decoder=decoders.Metaspace(prepend_scheme=scheme, split=byte_fallback),
    )
    assert_alike(changed(tokenizer, byte_fallback=byte_fallback), tmp_path, lines)


def test_the_most_probable_pieces_are_found_in_long_texts(
    unigram: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(unigram, pre_tokenizer=None)
    texts = ["".join(lines[i : i + 500]) for i in range(0, len(lines), 500)]
    assert_alike(tokenizer, tmp_path, texts)
