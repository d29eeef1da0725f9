"""Regular expressions of pre-tokenizers, which the library gives to Oniguruma."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from tokenizers import Regex
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import assert_encodes_alike, in_bytes, saved, with_parts
from tests.python.tokenizer.tokenize_lines import opened

EXPRESSIONS = [
    r"\b|\d",
    r"\B",
    r"[^\S\r\n]+",
    r"(?<=[a-z])(?=[A-Z])|^.|.$|\h{2}+",
    r"[[:alpha:]]+|[[:digit:]]{2}|\p{Han}|\p{Greek}+|\p{^L}",
    r"[[:upper:]][[:lower:]]*|[[:punct:]]+|[[:^space:]]",
    r"(?i:[a-z]+'s|é)|(?m:e.)|\P{L}",
    r"(?>\w+)(?!s)|\p{Lu}\p{M}*?\s",
    r"[^\W\d_]{2,3}?|[\p{N}&]",
    r"(?:\p{Hiragana}|\p{Katakana}|\p{Hangul}|\p{Arabic}|\p{Thai})+",
    r"\x{e9}|\u00e0|[\x41-\x5A]{1,2}+|\t|\n\r?",
    r"\A.|.\z|^\s|\s$",
    r"[a-z&&[^aeiou]]+|[\p{L}&&[^\p{Han}\p{Ll}]]{2}|\R",
    r"[^\w&&[^\s]]+|[a-z&&b-yA&&[^c]d-x]+|[!-&&-]",
    r"[a[b-f&&[^c]]x]+|[&&a]|[a&&]|[^\S&&[\r\n ]]{2}|[x[^\w\s]]|[^[^a-c]&&[^b]]",
]
SETS = [
    r"\w", r"[\w]", r"\W", r"[^\w]", r"\s", r"\d", r"\h", r".", r"(?i:s)", r"(?i:[^a-z])",
    r"\p{L}", r"\p{N}", r"\p{M}", r"\p{P}", r"\p{S}", r"\p{Z}", r"\p{Lu}", r"\p{Lt}", r"\p{Sc}",
    r"[\p{L}&&[^\p{Han}]]", r"[^\p{L}&&[^\p{Han}]]", r"[\w&&[^\d_]]", r"[[:alpha:]&&\p{M}]", r"\R",
    r"\p{Han}", r"\p{Punct}", r"[[:punct:]]", r"[[:space:]]", r"[[:cntrl:]]", r"[[:blank:]]",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_texts_are_split(
    expression: str, word_level: str, lines: list[str], tmp_path: Path
) -> None:
    split = pre.Split(Regex(expression), "isolated")
    tokenizer = with_parts(word_level, pre_tokenizer=split)
    assert_encodes_alike(tokenizer, saved(tokenizer, tmp_path), lines)


@pytest.fixture(scope="module")
def characters() -> list[str]:
    """Those that Unicode 14 has, without most ideographs and Hangul syllables, 16 a text."""
    many = [*range(0x3500, 0x4DB0), *range(0x4F00, 0x9F00), *range(0xAD00, 0xD700)]
    skipped = {*many, *range(0xD800, 0xF900)}
    assigned = [
        chr(c)
        for c in [*range(0x20100), *range(0xE0000, 0xE0200)]
        if c not in skipped and unicodedata.category(chr(c)) != "Cn"
    ]
    return ["".join(assigned[i : i + 16]) for i in range(0, len(assigned), 16)]


@pytest.mark.parametrize("expression", SETS)
def test_sets_have_the_same_characters(
    expression: str, word_level: str, characters: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_level, pre_tokenizer=pre.Split(Regex(expression), "removed"))
    answers = opened(
        saved(tokenizer, tmp_path), ({"text": text, "offsets": True} for text in characters)
    )
    encodings = tokenizer.encode_batch(characters)
    for text, answer, encoding in zip(characters, answers, encodings, strict=True):
        assert answer["offsets"] == in_bytes(text, encoding.offsets), text
