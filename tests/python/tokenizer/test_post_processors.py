"""Post-processors of tokenizer.json, on single texts and on pairs."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tokenizers import pre_tokenizers as pre
from tokenizers import processors

from tests.python.tokenizer.compare import (
    assert_encodes_alike,
    assert_encodes_pairs_alike,
    saved,
    with_parts,
)

SPECIAL = [("[CLS]", 1), ("[SEP]", 2)]
KINDS = [
    None,
    processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)),
    processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", SPECIAL),
    processors.TemplateProcessing("$A:3 [SEP]:4 $A", "$B:1 [CLS] $A:2", SPECIAL),
    processors.Sequence([]),
    processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing("[CLS] $0", "[CLS] $A [CLS]:1 $B:1", SPECIAL),
        ]
    ),
]
BYTE_LEVEL = [
    *(
        processors.ByteLevel(add_prefix_space=prefix, trim_offsets=trim)
        for prefix, trim in product((False, True), repeat=2)
    ),
    *(
        processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim, prefix)
        for prefix, trim in product((False, True), repeat=2)
    ),
]


@pytest.mark.parametrize("post_processor", KINDS, ids=repr)
def test_every_post_processor(
    post_processor: processors.PostProcessor | None,
    word_piece: str,
    lines: list[str],
    tmp_path: Path,
) -> None:
    tokenizer = with_parts(word_piece, post_processor=post_processor)
    path = saved(tokenizer, tmp_path)
    assert_encodes_alike(tokenizer, path, lines)
    assert_encodes_pairs_alike(tokenizer, path, lines)


@pytest.mark.parametrize("post_processor", BYTE_LEVEL, ids=repr)
def test_spaces_are_trimmed_from_the_offsets_of_byte_level_tokens(
    post_processor: processors.PostProcessor,
    byte_level: str,
    lines: list[str],
    tmp_path: Path,
) -> None:
    tokenizer = with_parts(
        byte_level,
        pre_tokenizer=pre.ByteLevel(add_prefix_space=post_processor.add_prefix_space),
        post_processor=post_processor,
    )
    assert_encodes_alike(tokenizer, saved(tokenizer, tmp_path), lines)


def test_spaces_are_trimmed_only_where_the_token_has_some(
    word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        word_piece,
        pre_tokenizer=pre.Split(" ", "merged_with_previous"),
        post_processor=processors.ByteLevel(trim_offsets=True),
    )
    assert_encodes_alike(tokenizer, saved(tokenizer, tmp_path), lines)
