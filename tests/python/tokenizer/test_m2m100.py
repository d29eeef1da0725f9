"""M2M100's tokenizer: ids and text equal those of `transformers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from transformers import M2M100Tokenizer

from tests.python.tokenizer.compare import assert_gives_texts, assert_same
from tests.python.tokenizer.tokenize_lines import opened, run

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


@pytest.fixture(scope="module")
def files(trained_sentence_piece: Callable[..., bytes]) -> dict[str, bytes]:
    model = trained_sentence_piece(vocab_size=900, model_type="bpe")
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [processor.id_to_piece(i) for i in range(3, 900) if i % 17]  # it need not have all
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *reversed(pieces)])}
    return {
        "sentencepiece.bpe.model": model,
        "vocab.json": json.dumps(vocabulary).encode(),
    }


@pytest.fixture
def folder(files: dict[str, bytes], tmp_path: Path) -> Path:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture(scope="module")
def texts(lines: list[str]) -> list[str]:
    """Return the lines, and some with languages' tokens and special ones."""
    lines = [line.replace("\0", "") for line in lines]
    return [
        *lines,
        *(f"__fr__ {line}" for line in lines[::9]),
        *(f"__xx__{line}</s> a__en__<unk>{line} " for line in lines[::9]),
        "__fr__",
        "__fr",
    ]


def write_json(path: Path, **settings: object) -> None:
    path.write_text(json.dumps(settings))


def assert_is_the_library_s(folder: Path, texts: list[str], **languages: Any) -> None:
    theirs = M2M100Tokenizer.from_pretrained(str(folder), **languages)
    theirs.save_pretrained(folder)
    for target in (False, True):
        encoded = (theirs(text_target=texts) if target else theirs(texts)).input_ids
        options = ["--target"] if target else []
        answers = opened(folder, ({"text": text} for text in texts), *options)
        assert_same([answer["ids"] for answer in answers], encoded, texts)
    ids = [*encoded, [theirs.get_lang_id("de"), 7, 0, 3, 9, 2, 2, 11]]
    wanted = {skip: theirs.batch_decode(ids, skip_special_tokens=skip) for skip in (True, False)}
    assert_gives_texts(folder, ids, wanted)


@pytest.mark.parametrize("codes", ["m2m100", "wmt21"])
def test_languages_that_are_no_special_tokens(codes: str, folder: Path, texts: list[str]) -> None:
    write_json(folder / "tokenizer_config.json", language_codes=codes)
    assert_is_the_library_s(folder, texts, src_lang="ru", tgt_lang="is")


def test_languages_that_are_special_tokens(folder: Path, texts: list[str]) -> None:
    """As on the hub: the special tokens have a file of their own."""
    languages = M2M100Tokenizer.from_pretrained(str(folder)).lang_code_to_token.values()
    write_json(folder / "special_tokens_map.json", additional_special_tokens=list(languages))
    before = opened(folder, [{"text": "__fr__ a"}])[0]["ids"]
    assert before == M2M100Tokenizer.from_pretrained(str(folder))("__fr__ a").input_ids
    assert_is_the_library_s(folder, texts, src_lang="en", tgt_lang="fr")


def test_special_tokens_of_a_file_of_their_own_go_before(folder: Path, texts: list[str]) -> None:
    write_json(folder / "tokenizer_config.json", pad_token="<s>", sep_token="<pad>")
    write_json(folder / "special_tokens_map.json", sep_token="</s>", unk_token="<unk>")
    assert_is_the_library_s(folder, texts, src_lang="en", tgt_lang="fr")


def test_ids_that_no_token_has_are_unknown(folder: Path) -> None:
    theirs = M2M100Tokenizer.from_pretrained(str(folder))
    last = max(theirs.lang_code_to_id.values())
    ids = [[5, last + 1, 6, 7], [last + 8, 9]]
    wanted = {skip: theirs.batch_decode(ids, skip_special_tokens=skip) for skip in (True, False)}
    assert_gives_texts(folder, ids, wanted)
    assert "<unk>" in wanted[True][0]


def test_pairs(folder: Path, texts: list[str]) -> None:
    theirs = M2M100Tokenizer.from_pretrained(str(folder))
    pairs = list(zip(texts[:50], texts[50:100], strict=True))
    answers = opened(folder, ({"text": a, "pair": b} for a, b in pairs))
    wanted = theirs([a for a, _ in pairs], [b for _, b in pairs]).input_ids
    assert_same([answer["ids"] for answer in answers], wanted, pairs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"src_lang": "eng_Latn"}, "'eng_Latn' is none of the languages of m2m100"),
        ({"language_codes": "m2m101"}, "'language_codes' is 'm2m101', not m2m100 or wmt21"),
        ({"eos_token": "</end>"}, "vocab.json lacks '<unk>' or '</end>'"),
        ({"src_lang": 4}, "src_lang"),
        (
            {"tokenizer_class": "Speech2TextTokenizer"},
            "'tokenizer_class' is 'Speech2TextTokenizer'",
        ),
        ({"additional_special_tokens": ["__en__", "__af__"]}, "'__en__' would get the id"),
        ({"mask_token": "<mask>", "additional_special_tokens": ["__af__"]}, "'<mask>' would get"),
        ({"pad_token": {"content": "<pad>", "lstrip": True}}, "'lstrip' is not supported"),
        ({"sp_model_kwargs": {"enable_sampling": True}}, "'sp_model_kwargs' is not supported"),
        ({"split_special_tokens": True}, "'split_special_tokens' is not supported"),
        ({"num_madeup_words": 1e9}, "num_madeup_words"),
        (
            {"added_tokens_decoder": {"9": {"content": "hello", "special": False}}},
            "the added token 'hello' is no special one",
        ),
    ],
)
def test_settings_that_are_not_there_are_refused(
    folder: Path, settings: dict[str, Any], message: str
) -> None:
    write_json(folder / "tokenizer_config.json", **settings)
    assert message in run(folder, [])[0]["error"]


def test_a_target_needs_its_language(folder: Path) -> None:
    assert "'tgt_lang' is missing" in run(folder, [], "--target")[0]["error"]
