"""Every character of Unicode: results differ only where the libraries' tables do."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from tokenizers import Tokenizer, normalizers
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import in_bytes, saved, with_parts
from tests.python.tokenizer.tokenize_lines import opened


def different(tokenizer: Tokenizer, path: Path, texts: list[str]) -> list[str]:
    """Return the texts that become other tokens."""
    answers = opened(path, ({"text": text, "offsets": True} for text in texts))
    encodings = tokenizer.encode_batch(texts)
    return [
        text
        for text, encoding, answer in zip(texts, encodings, answers, strict=True)
        if answer["ids"] != encoding.ids or answer["offsets"] != in_bytes(text, encoding.offsets)
    ]


def test_every_code_point(word_piece: str, tmp_path: Path) -> None:
    tokenizer = with_parts(
        word_piece, normalizer=normalizers.NFKC(), pre_tokenizer=pre.Whitespace()
    )
    path = saved(tokenizer, tmp_path)
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    groups = [characters[i : i + 64] for i in range(0, len(characters), 64)]
    texts = [" ".join(f"a{character}b" for character in group) for group in groups]
    alone = [f"a{c}b" for text in different(tokenizer, path, texts) for c in text[1::4]]
    found = [text[1] for text in different(tokenizer, path, alone)]
    new = [c for c in found if unicodedata.ucd_3_2_0.category(c) == "Cn"]
    assert found == new
