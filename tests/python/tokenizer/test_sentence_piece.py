"""SentencePiece models: ids and text equal those of the `sentencepiece` library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.python.tokenizer.compare import assert_same, made_up_ids
from tests.python.tokenizer.tokenize_lines import opened, run

USER_DEFINED = {
    "user_defined_symbols": ["<sep>", "the ", "é", "▁a▁", "abc", "  "],
    "control_symbols": ["<ctl>"],
}
ANY_SPACES = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
RULES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
OPTIONS: list[dict[str, Any]] = [
    {"byte_fallback": True, "character_coverage": 0.99},
    {**USER_DEFINED, "pad_id": 3},
    {**USER_DEFINED, **ANY_SPACES, "byte_fallback": True},
    {"add_dummy_prefix": False},
    {"remove_extra_whitespaces": False},
    {"treat_whitespace_as_suffix": True},
    {"treat_whitespace_as_suffix": True, **ANY_SPACES, "byte_fallback": True},
    {"split_by_unicode_script": False, "split_by_number": False, "max_sentencepiece_length": 8},
    {"split_digits": True, "bos_id": -1, "eos_id": -1},
    {"unk_id": 5, "pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_surface": " UNK "},
    {"split_by_whitespace": False, "allow_whitespace_only_pieces": True, **ANY_SPACES},
]
SMALL = {"vocab_size": 600, "hard_vocab_limit": False}


def small(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"model_type": kind, **(SMALL if kind in ("char", "word") else {}), **options}


def assert_model_alike(model: bytes, folder: Path, lines: list[str]) -> None:
    """Check ids and text of lines, and the text of ids that no line has."""
    path = folder / "spiece.model"
    path.write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    lines = [line.replace("\0", "") for line in lines]
    encoded = processor.encode(lines)
    answers = opened(path, ({"text": line} for line in lines))
    assert_same([answer["ids"] for answer in answers], encoded, lines)
    all_ids = [*encoded, *made_up_ids(range(processor.get_piece_size()))]
    wanted = processor.decode(all_ids)
    answers = opened(path, ({"ids": ids} for ids in all_ids))
    assert_same([answer.get("text") for answer in answers], wanted, all_ids)
    streams = opened(path, ({"ids": ids, "stream": True} for ids in all_ids))
    assert_same(["".join(stream["parts"]) for stream in streams], wanted, all_ids)


Train = Callable[..., bytes]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_normalization_rule(
    kind: str, rule: str, trained_sentence_piece: Train, lines: list[str], tmp_path: Path
) -> None:
    model = trained_sentence_piece(model_type=kind, normalization_rule_name=rule)
    assert_model_alike(model, tmp_path, lines)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_rules_of_one_s_own(
    kind: str, trained_sentence_piece: Train, lines: list[str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("41\t61\n41 42\t78 79\n65\t\n20AC\t45 55 52\n3042 3044\t3046\n3000\t20\n")
    options = small(kind, {"normalization_rule_tsv": str(rules)})
    assert_model_alike(trained_sentence_piece(**options), tmp_path, lines)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_option(
    kind: str,
    options: dict[str, Any],
    trained_sentence_piece: Train,
    lines: list[str],
    tmp_path: Path,
) -> None:
    assert_model_alike(trained_sentence_piece(**small(kind, options)), tmp_path, lines)


@pytest.mark.parametrize("options", [{}, OPTIONS[1], OPTIONS[2], OPTIONS[6]], ids=str)
@pytest.mark.parametrize("kind", ["char", "word"])
def test_characters_and_words(
    kind: str,
    options: dict[str, Any],
    trained_sentence_piece: Train,
    lines: list[str],
    tmp_path: Path,
) -> None:
    assert_model_alike(trained_sentence_piece(**small(kind, options)), tmp_path, lines)


def changed(model: bytes, change: Callable[[sentencepiece_model_pb2.ModelProto], None]) -> bytes:
    """Return a model with fields that the trainer does not set so."""
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    change(proto)
    return proto.SerializeToString()


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_spaces_may_stay_spaces(
    kind: str, trained_sentence_piece: Train, lines: list[str], tmp_path: Path
) -> None:
    def keep_spaces(proto: sentencepiece_model_pb2.ModelProto) -> None:
        proto.normalizer_spec.escape_whitespaces = False

    model = trained_sentence_piece(**small(kind, {}))
    assert_model_alike(changed(model, keep_spaces), tmp_path, lines)


def test_unused_pieces_are_not_found(
    trained_sentence_piece: Train, lines: list[str], tmp_path: Path
) -> None:
    def retire_pieces(proto: sentencepiece_model_pb2.ModelProto) -> None:
        for piece in proto.pieces[50:500:3]:
            piece.type = piece.UNUSED

    model = trained_sentence_piece(model_type="unigram")
    assert_model_alike(changed(model, retire_pieces), tmp_path, lines)


def test_long_texts_keep_their_precision(
    trained_sentence_piece: Train, lines: list[str], tmp_path: Path
) -> None:
    texts = ["".join(lines[i : i + 5000]) for i in (0, 2500, 5000)]
    assert_model_alike(trained_sentence_piece(model_type="unigram"), tmp_path, texts)


def test_unused_pieces_are_refused_where_they_would_need_other_merges(
    trained_sentence_piece: Train, tmp_path: Path
) -> None:
    def retire_piece(proto: sentencepiece_model_pb2.ModelProto) -> None:
        proto.pieces[100].type = proto.pieces[100].UNUSED

    path = tmp_path / "spiece.model"
    path.write_bytes(changed(trained_sentence_piece(model_type="bpe"), retire_piece))
    (answer,) = run(path, [])
    assert "piece 100 is unused" in answer["error"]


def test_denormalizers_are_refused(trained_sentence_piece: Train, tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("61\t41\n")
    path = tmp_path / "spiece.model"
    path.write_bytes(trained_sentence_piece(denormalization_rule_tsv=str(rules)))
    (answer,) = run(path, [])
    assert "the model has a denormalizer" in answer["error"]
