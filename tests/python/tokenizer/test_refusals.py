"""What tokenizer.json may ask for and is not there is refused, by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.python.tokenizer.tokenize_lines import run


@pytest.mark.parametrize(
    ("part", "value", "name"),
    [
        ("normalizer", {"type": "Reverse"}, "normalizer: the normalizer 'Reverse' is not known"),
        ("pre_tokenizer", {"type": "Split9"}, "pre_tokenizer: the pre-tokenizer 'Split9'"),
        ("post_processor", {"type": "X"}, "post_processor: the post-processor 'X'"),
        ("decoder", {"type": "Y"}, "decoder: the decoder 'Y'"),
        (
            "decoder",
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Z"}]},
            "decoder.decoders[1]: the decoder 'Z'",
        ),
        ("version", "2.0", "the version '2.0'"),
        (
            "truncation",
            {"max_length": 3, "stride": 0, "strategy": "LongestFirst", "direction": "Sideways"},
            "truncation.direction: the direction 'Sideways' is not known",
        ),
        (
            "decoder",
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "sometimes"},
            "decoder.prepend_scheme: the scheme 'sometimes' is not known",
        ),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    part: str, value: Any, name: str, word_piece: str, tmp_path: Path
) -> None:
    content = json.loads(word_piece)
    content[part] = value
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    (answer,) = run(path, [])
    assert name in answer["error"]
    assert answer["code"] == 2


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (r"(a)\1", r"'\1'"),
        ("(?i:[a-z&&[E]])", "'(?i) with classes that are intersected'"),
        # It takes what equals a character of the complement for one of it: this matches a letter.
        ("(?i:[^[^a-z]])", "'(?i) with a complement within a class'"),
        (r"(?i:[^\p{Lu}])", "'(?i) with a property that not all cases of a character have'"),
        (r"(?i:[^\P{L}])", "'(?i) with a property that not all cases of a character have'"),
        # Oniguruma lets one character equal several in another case: these match U+00DF or U+FB01.
        ("(?i:gross)", "'(?i) with a character that has several"),
        ("(?i)a|fi", "'(?i) with a character that has several"),
        ("(?i:ß)", "'(?i) with a character that has several"),
        (r"(?i:[\p{L}])", "'(?i) with a class of characters beyond ASCII'"),
    ],
)
def test_an_expression_that_would_match_otherwise_is_refused(
    expression: str, name: str, word_piece: str, tmp_path: Path
) -> None:
    content = json.loads(word_piece)
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    content["pre_tokenizer"] = split | {"pattern": {"Regex": expression}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    (answer,) = run(path, [])
    assert f"uses {name}" in answer["error"]
    assert answer["code"] == 2
