"""Normalizers of tokenizer.json: every kind and option."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, normalizers

from tests.python.tokenizer.compare import assert_alike, with_parts

BERT = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
KINDS = [
    normalizers.NFC(),
    normalizers.NFD(),
    normalizers.NFKC(),
    normalizers.NFKD(),
    normalizers.Lowercase(),
    normalizers.StripAccents(),
    normalizers.Nmt(),
    *(normalizers.Strip(left, right) for left, right in product((False, True), repeat=2)),
    normalizers.Prepend("un"),
    normalizers.Replace(" ", "▁"),
    normalizers.Replace("e", ""),
    normalizers.Replace(Regex(r"\s{2,}|\d"), "x y"),
    normalizers.Replace(Regex(r"e(?=s)|^a|b$"), ""),
    normalizers.ByteLevel(),
    normalizers.BertNormalizer(),
    *(
        normalizers.BertNormalizer(**{**dict.fromkeys(BERT, False), option: True})
        for option in BERT
    ),
    normalizers.BertNormalizer(strip_accents=False),
    normalizers.Sequence([]),
    normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.Sequence([normalizers.Replace("a", "bc"), normalizers.Prepend("a")]),
            normalizers.Replace("c", "a"),
        ]
    ),
]


@pytest.mark.parametrize("normalizer", KINDS, ids=repr)
def test_every_normalizer(
    normalizer: normalizers.Normalizer, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    # Tokens of bytes show the whole normalized text.
    assert_alike(with_parts(byte_level, normalizer=normalizer), tmp_path, lines)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nmt_nfkc_cf"])
def test_a_precompiled_map_of_characters(
    rule: str,
    trained_sentence_piece: Callable[..., bytes],
    byte_level: str,
    lines: list[str],
    tmp_path: Path,
) -> None:
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(trained_sentence_piece(normalization_rule_name=rule))
    charsmap = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    assert_alike(with_parts(byte_level, normalizer=charsmap), tmp_path, lines)
