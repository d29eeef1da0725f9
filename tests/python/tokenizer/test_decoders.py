"""Decoders of tokenizer.json: every kind and option, at once and token by token."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, decoders

from tests.python.tokenizer.compare import assert_decodes_alike, made_up_ids, saved, with_parts

KINDS = [
    None,
    decoders.BPEDecoder("e"),
    decoders.ByteFallback(),
    decoders.ByteLevel(),
    decoders.CTC("<pad>", "e", True),
    decoders.CTC("a", "|", False),
    decoders.Fuse(),
    *(
        decoders.Metaspace("▁", scheme, split)
        for scheme, split in product(("always", "first", "never"), (False, True))
    ),
    decoders.Replace("▁", " "),
    decoders.Replace(Regex(r"[aeiou]+"), "_"),
    decoders.Strip("▁", 1, 0),
    decoders.WordPiece("▁", cleanup=True),
    decoders.WordPiece("▁", cleanup=False),
    decoders.Sequence([]),
    decoders.Sequence([decoders.Fuse(), decoders.Replace("▁", " "), decoders.Strip(" ", 2, 0)]),
    decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()]),
]


def assert_texts_alike(tokenizer: Tokenizer, folder: Path, lines: list[str]) -> None:
    """Check the text of lines' ids, and of ids that no line has."""
    path = saved(tokenizer, folder)
    encodings = tokenizer.encode_batch(lines)
    # Some of the library's decoders fail where there is no token.
    all_ids = [e.ids for e in encodings] + made_up_ids(tokenizer.get_vocab().values())
    assert_decodes_alike(tokenizer, path, [ids for ids in all_ids if tokenizer.decode(ids)])


@pytest.mark.parametrize("decoder", KINDS, ids=repr)
def test_every_decoder(
    decoder: decoders.Decoder | None, byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    assert_texts_alike(with_parts(byte_fallback, decoder=decoder), tmp_path, lines)


@pytest.mark.parametrize("cleanup", [False, True])
def test_word_pieces_are_joined(
    cleanup: bool, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, decoder=decoders.WordPiece(cleanup=cleanup))
    assert_texts_alike(tokenizer, tmp_path, lines)
