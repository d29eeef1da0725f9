"""Byte pair encoding of tokenizer.json: every option of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, normalizers
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import (
    assert_alike,
    assert_encodes_alike,
    changed,
    saved,
    with_parts,
)
from tests.python.tokenizer.tokenize_lines import run


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_bytes_are_merged(
    ignore_merges: bool, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = changed(Tokenizer.from_str(byte_level), ignore_merges=ignore_merges)
    assert_alike(tokenizer, tmp_path, lines)


def test_bytes_may_be_written_by_the_normalizer(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_level,
        normalizer=normalizers.ByteLevel(),
        pre_tokenizer=pre.Split(Regex("Ġ"), "isolated"),
    )
    assert_alike(tokenizer, tmp_path, lines)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"byte_fallback": False},
        {"byte_fallback": False, "fuse_unk": False},
        {"unk_token": None, "byte_fallback": False},
        {"ignore_merges": True},
    ],
    ids=str,
)
def test_characters_are_merged_in_a_text_that_is_not_split(
    model: dict[str, Any], byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(byte_fallback, pre_tokenizer=None)
    assert_alike(changed(tokenizer, **model), tmp_path, lines)


def test_a_byte_that_the_vocabulary_lacks_makes_a_character_unknown(
    byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    content = json.loads(byte_fallback)
    del content["model"]["vocab"]["<0xC3>"]
    content["added_tokens"] = []
    assert_alike(Tokenizer.from_str(json.dumps(content)), tmp_path, lines)


def test_affixes_mark_the_parts_of_words(
    byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_fallback,
        normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()]),
        pre_tokenizer=pre.WhitespaceSplit(),
        decoder=decoders.BPEDecoder("</w>"),
    )
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    for letter in "abcdefghijklmnopqrstuvwxyz":
        for token in (letter, f"##{letter}", f"##{letter}</w>", f"{letter}</w>"):
            vocabulary.setdefault(token, len(vocabulary))
    for pair in ("he", "in", "on"):
        vocabulary.setdefault(pair, len(vocabulary))
    content["model"]["merges"] = [[a, f"##{b}"] for a, b in ("he", "in", "on")]
    content["model"].update(
        continuing_subword_prefix="##", end_of_word_suffix="</w>", byte_fallback=False
    )
    assert_alike(Tokenizer.from_str(json.dumps(content)), tmp_path, lines)


def test_merges_may_be_written_as_strings(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    path = saved(tokenizer, tmp_path)
    content = json.loads(path.read_text())
    content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    path.write_text(json.dumps(content))
    _, *answers = run(path, ({"text": line} for line in lines))
    assert [a["ids"] for a in answers] == [e.ids for e in tokenizer.encode_batch(lines)]


def test_dropout_is_ignored_with_a_warning(
    byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_fallback)
    path = saved(changed(tokenizer, dropout=0.5), tmp_path)
    first, *answers = run(path, ({"text": line} for line in lines))
    assert "dropout" in first["warnings"][0]
    assert [a["ids"] for a in answers] == [e.ids for e in tokenizer.encode_batch(lines)]


def test_a_model_without_a_type_is_told_by_what_it_has(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    content = json.loads(byte_level)
    del content["model"]["type"]
    tokenizer = Tokenizer.from_str(json.dumps(content))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    assert_encodes_alike(tokenizer, path, lines)
