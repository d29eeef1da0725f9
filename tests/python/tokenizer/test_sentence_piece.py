"""SentencePiece models: ids and text equal those of the `sentencepiece` library."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenize_lines import opened, run

USER_DEFINED = {
    "user_defined_symbols": ["<sep>", "the ", "é", "▁a▁", "abc"],
    "control_symbols": ["<ctl>"],
}
KEEPS_SPACES = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"byte_fallback": True, "character_coverage": 0.99},
    {**USER_DEFINED, "pad_id": 3},
    {"normalization_rule_name": "identity", **KEEPS_SPACES},
    {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": False},
    {"normalization_rule_name": "nmt_nfkc_cf", "treat_whitespace_as_suffix": True},
    {
        "normalization_rule_name": "nfkc",
        "split_by_whitespace": False,
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "unk_surface": " UNK ",
    },
]
SMALL = {"vocab_size": 300, "hard_vocab_limit": False}
MODELS = [
    *({"model_type": kind, **options} for kind in ("unigram", "bpe") for options in OPTIONS),
    {"model_type": "char", **SMALL},
    {"model_type": "word", **SMALL},
]


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_ids_and_text_are_the_library_s(
    options: dict[str, Any],
    trained_sentence_piece: Callable[..., bytes],
    lines: list[str],
    tmp_path: Path,
) -> None:
    path = tmp_path / "spiece.model"
    path.write_bytes(trained_sentence_piece(**options))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    lines = [line.replace("\0", "") for line in lines]
    encoded = processor.encode(lines)
    for offsets in (False, True):
        answers = opened(path, ({"text": line, "offsets": offsets} for line in lines))
        for line, ids, answer in zip(lines, encoded, answers, strict=True):
            assert answer["ids"] == ids, line

    draw = random.Random(3)
    size = processor.get_piece_size()
    made_up = [[draw.randrange(size) for _ in range(draw.randint(1, 12))] for _ in range(2000)]
    all_ids = [*encoded, *made_up]
    wanted = processor.decode(all_ids)
    assert [answer["text"] for answer in opened(path, ({"ids": ids} for ids in all_ids))] == wanted
    streamed = opened(path, ({"ids": ids, "stream": True} for ids in all_ids))
    assert ["".join(answer["parts"]) for answer in streamed] == wanted


def test_unused_pieces_are_refused_where_they_would_need_other_merges(
    trained_sentence_piece: Callable[..., bytes], tmp_path: Path
) -> None:
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(trained_sentence_piece(model_type="bpe"))
    model.pieces[100].type = model.pieces[100].UNUSED
    path = tmp_path / "spiece.model"
    path.write_bytes(model.SerializeToString())
    (answer,) = run(path, [])
    assert "piece 100 is unused" in answer["error"]
