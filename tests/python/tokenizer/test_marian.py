"""Marian's pair of models: ids and text equal those of `transformers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
from transformers import MarianTokenizer

from tests.python.tokenizer.compare import assert_gives_texts, assert_same, made_up_ids
from tests.python.tokenizer.tokenize_lines import opened, run


@pytest.fixture(scope="module")
def folder(
    trained_sentence_piece: Callable[..., bytes], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    vocabulary = {"</s>": 0, "<unk>": 1, ">>fr<<": 2, "\u263a": 3}
    for name, size in (("source.spm", 1200), ("target.spm", 900)):
        model = trained_sentence_piece(vocab_size=size, normalization_rule_name="nmt_nfkc")
        (folder / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for i in range(0, size, 1 if name == "target.spm" else 2):  # it need not have them all
            vocabulary.setdefault(processor.id_to_piece(i), len(vocabulary))
    vocabulary["<pad>"] = len(vocabulary)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    write_config(folder)
    return folder


def write_config(folder: Path, **settings: object) -> None:
    config = {"source_lang": "en", "target_lang": "fr", **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def texts(lines: list[str]) -> list[str]:
    """Return the lines, and some with language codes and special tokens."""
    lines = [line.replace("\0", "") for line in lines]
    return [
        *lines,
        *(f">>fr<< {line}" for line in lines[::9]),
        *(f">>xx<<{line}</s> a" for line in lines[::9]),
        *(f"{line} >>fr<< {line}<pad><unk>>>fr<<{line}" for line in lines[::9]),
        ">>fr<<",
        ">>fr",
        "<<>>",
        ">><<",
    ]


@pytest.mark.parametrize("target", [False, True], ids=["source", "target"])
def test_ids_and_text_are_the_library_s(target: bool, folder: Path, texts: list[str]) -> None:
    theirs = MarianTokenizer.from_pretrained(str(folder))
    encoded = (theirs(text_target=texts) if target else theirs(texts)).input_ids
    options = ["--target"] if target else []
    answers = opened(folder, ({"text": text} for text in texts), *options)
    assert_same([answer["ids"] for answer in answers], encoded, texts)

    ids = [*encoded, *made_up_ids(theirs.encoder.values())]
    wanted = {skip: theirs.batch_decode(ids, skip_special_tokens=skip) for skip in (True, False)}
    assert_gives_texts(folder, ids, wanted, *options)


def test_batches_and_pairs(folder: Path, texts: list[str]) -> None:
    theirs = MarianTokenizer.from_pretrained(str(folder))
    wanted = theirs(texts).input_ids
    batches = opened(folder, [{"batch": texts, "threads": 2}])
    assert_same([answer["ids"] for answer in batches[0]], wanted, texts)

    pairs = list(zip(texts, reversed(texts), strict=True))
    answers = opened(folder, ({"text": a, "pair": b} for a, b in pairs))
    wanted = theirs([a for a, _ in pairs], [b for _, b in pairs]).input_ids
    assert_same([answer["ids"] for answer in answers], wanted, pairs)

    bare = opened(folder, ({"text": text, "add_special_tokens": False} for text in texts))
    wanted = theirs(texts, add_special_tokens=False).input_ids
    assert_same([answer["ids"] for answer in bare], wanted, texts)


def test_settings_that_are_not_there_are_refused_or_told_of(folder: Path) -> None:
    try:
        write_config(folder, clean_up_tokenization_spaces=True)
        assert "clean_up_tokenization_spaces" in run(folder, [])[0]["warnings"][0]
        write_config(folder, separate_vocabs=True)
        assert "'separate_vocabs' is not supported" in run(folder, [])[0]["error"]
    finally:
        write_config(folder)
