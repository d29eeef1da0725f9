"""Marian's pair of models: ids and text equal those of `transformers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
from tokenize_lines import opened


@pytest.fixture
def folder(trained_sentence_piece: Callable[..., bytes], tmp_path: Path) -> Path:
    vocabulary = {"</s>": 0, "<unk>": 1, ">>fr<<": 2, "\u263a": 3}
    for name, size in (("source.spm", 1200), ("target.spm", 900)):
        model = trained_sentence_piece(vocab_size=size, normalization_rule_name="nmt_nfkc")
        (tmp_path / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        for i in range(0, size, 1 if name == "target.spm" else 2):  # it need not have them all
            vocabulary.setdefault(processor.id_to_piece(i), len(vocabulary))
    vocabulary["<pad>"] = len(vocabulary)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": "fr"})
    )
    return tmp_path


@pytest.mark.parametrize("target", [False, True])
def test_ids_and_text_are_the_library_s(target: bool, folder: Path, lines: list[str]) -> None:
    from transformers import MarianTokenizer

    theirs = MarianTokenizer.from_pretrained(str(folder))
    lines = [line.replace("\0", "") for line in lines]
    lines += [f">>fr<< {line}" for line in lines[::9]] + [
        f">>xx<<{line}</s> a" for line in lines[::9]
    ]
    encoded = theirs(text_target=lines).input_ids if target else theirs(lines).input_ids
    options = ["--target"] if target else []
    answers = opened(folder, ({"text": line} for line in lines), *options)
    for line, ids, answer in zip(lines, encoded, answers, strict=True):
        assert answer["ids"] == ids, line
    for skip in (True, False):
        wanted = theirs.batch_decode(encoded, skip_special_tokens=skip)
        requests = [{"ids": ids, "skip_special_tokens": skip} for ids in encoded]
        assert [answer["text"] for answer in opened(folder, requests, *options)] == wanted
        streamed = opened(folder, ({**request, "stream": True} for request in requests), *options)
        assert ["".join(answer["parts"]) for answer in streamed] == wanted
