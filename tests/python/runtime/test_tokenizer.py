"""``ps.Tokenizer``: what it gives and refuses. That its ids are right is shown in ../tokenizer."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import polystate as ps

TEXTS = ["Hello, world", "", "naïve café 😀 \U0001f469\u200d\U0001f680", "a</s>b"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["</s>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        "$A </s>", "$A:0 </s>:0 $B:1 </s>:1", [("</s>", 0)]
    )
    directory = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture(scope="module")
def ours(path: Path) -> ps.Tokenizer:
    return ps.Tokenizer.open(path)


@pytest.fixture(scope="module")
def theirs(path: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_file=str(path / "tokenizer.json"))


def test_a_file_and_its_directory_are_the_same(path: Path, ours: ps.Tokenizer) -> None:
    assert ps.Tokenizer.open(str(path / "tokenizer.json")).encode(TEXTS[0]) == ours.encode(TEXTS[0])


@pytest.mark.parametrize("text", TEXTS)
def test_a_call_gives_what_transformers_gives(
    text: str, ours: ps.Tokenizer, theirs: PreTrainedTokenizerFast
) -> None:
    options = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    assert ours(text, **options) == dict(theirs(text, return_token_type_ids=True, **options))
    assert ours(text, "pair", **options) == dict(
        theirs(text, "pair", return_token_type_ids=True, **options)
    )
    assert ours.encode(text, add_special_tokens=False) == theirs.encode(
        text, add_special_tokens=False
    )


def test_a_batch_gives_what_transformers_gives_with_any_number_of_threads(
    ours: ps.Tokenizer, theirs: PreTrainedTokenizerFast
) -> None:
    texts = TEXTS * 50
    expected = dict(theirs(texts, return_token_type_ids=True))
    for threads in (None, 1, 3):
        assert ours(texts, threads=threads) == expected
    pairs = texts[::-1]
    assert ours(texts, pairs) == dict(theirs(texts, pairs, return_token_type_ids=True))
    assert ours([]) == {"input_ids": [], "token_type_ids": [], "attention_mask": []}


def test_a_file_s_truncation_and_padding_wait_to_be_asked_for(path: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=6, pad_id=1)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = ps.Tokenizer.open(tmp_path)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in ("a", "naïve café"):
        assert ours(text)["input_ids"] == ours.encode(text) == theirs(text)["input_ids"]
        asked = ours([text], truncation=True, padding=True)["input_ids"]
        assert asked == [tokenizer.encode(text).ids]


def test_text_comes_back_from_lists_arrays_tensors_and_single_ids(
    ours: ps.Tokenizer, theirs: PreTrainedTokenizerFast
) -> None:
    ids = ours.encode(TEXTS[2])
    expected = theirs.decode(ids, skip_special_tokens=True)
    assert ours.decode(ids) == ours.decode(np.array(ids)) == ours.decode(torch.tensor(ids))
    assert ours.decode(ids) == ours.decode(iter(ids)) == expected == TEXTS[2]
    assert ours.decode(ids, skip_special_tokens=False) == expected + "</s>"
    assert ours.decode(0, skip_special_tokens=False) == "</s>"
    assert ours.batch_decode([ids, []]) == [expected, ""]


def test_a_stream_gives_whole_characters(ours: ps.Tokenizer) -> None:
    stream = ours.decode_stream()
    parts = [stream.push(token) for token in ours.encode(TEXTS[2])]
    assert "".join(parts) + stream.finish() == TEXTS[2]
    assert "\ufffd" not in "".join(parts)
    with pytest.raises(ps.ContractError, match="99999"):
        stream.push(99999)


def test_special_tokens_in_a_text_are_as_the_policy_says(ours: ps.Tokenizer) -> None:
    def count(policy: str) -> int:
        return ours.encode("a</s>b", add_special_tokens=False, special_tokens=policy).count(0)

    assert (count("accept"), count("plain_text")) == (1, 0)
    with pytest.raises(ps.ContractError, match="'</s>', at byte 1"):
        count("refuse")
    assert ours.is_special(0)
    assert not ours.is_special(1)


def test_the_vocabulary_can_be_asked(ours: ps.Tokenizer, theirs: PreTrainedTokenizerFast) -> None:
    assert len(ours) == ours.vocabulary_size == len(theirs)
    for token, number in theirs.get_vocab().items():
        assert ours.token_to_id(token) == number
        assert ours.id_to_token(number) == token
    assert ours.token_to_id("no such token") is None
    assert ours.id_to_token(99999) is None
    assert ours.warnings == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.encode("a\ud800"), "position 1"),
        (lambda t: t.encode(3), "not a int"),
        (lambda t: t.encode(["a"]), "not a list"),
        (lambda t: t(["a", None]), "not a NoneType"),
        (lambda t: t(["a"], ["b", "c"]), "2 texts for a batch of 1"),
        (lambda t: t(["a"], "b"), "one text for a batch of 1"),
        (lambda t: t(["a"], threads=0), "threads is 0"),
        (lambda t: t(["a"], threads=2**70), "threads is 1180591620717411303424"),
        (lambda t: t(None), "not a NoneType"),
        (lambda t: t.encode("a", special_tokens="maybe"), "'accept', 'plain_text' or 'refuse'"),
        (lambda t: t.decode([-1]), "-1 is no id"),
        (lambda t: t.decode([2**32]), "4294967296 is no id"),
        (lambda t: t.decode([1.5]), "1.5 is no id"),
        (lambda t: t.decode("ab"), "'a' is no id"),
        (lambda t: t.decode([99999]), "99999 is not in the vocabulary"),
    ],
)
def test_a_mistake_is_a_contract_error(ours: ps.Tokenizer, call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ps.ContractError, match=message):
        call(ours)


def test_files_that_are_missing_damaged_or_unknown_are_typed_errors(
    path: Path, tmp_path: Path
) -> None:
    with pytest.raises(ps.IoError, match="nowhere"):
        ps.Tokenizer.open(tmp_path / "nowhere")
    with pytest.raises(ps.IoError, match=r"tokenizer\.json"):
        ps.Tokenizer.open(tmp_path)
    content = (path / "tokenizer.json").read_text(encoding="utf-8")
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text(content[: len(content) // 2], encoding="utf-8")
    with pytest.raises(ps.ArtifactError, match=r"tokenizer\.json"):
        ps.Tokenizer.open(tmp_path)
    damaged.write_text(content.replace('"ByteLevel"', '"ByteLevel2"'), encoding="utf-8")
    with pytest.raises(ps.UnsupportedError, match="ByteLevel2"):
        ps.Tokenizer.open(tmp_path)
    with pytest.raises(ps.ContractError, match="without a pattern"):
        ps.Tokenizer.open(tmp_path, special_tokens={"a": 1})
    with pytest.raises(ps.ContractError, match="'a' has the id -1"):
        ps.Tokenizer.open(tmp_path, pattern=".", special_tokens={"a": -1})
    with pytest.raises(ps.ContractError, match="for a TikToken file"):
        ps.Tokenizer.open(path, pattern=".")
    with pytest.raises(ps.ContractError, match="for Marian's and M2M100's tokenizers"):
        ps.Tokenizer.open(path, target_language=True)


def test_an_unknown_id_is_told_why_it_is_none(tmp_path: Path) -> None:
    known = {0: "a", 3: "b", 4: "c", 9: "d"}
    tokenizer = Tokenizer(models.WordLevel({token: id for id, token in known.items()}, "a"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = ps.Tokenizer.open(tmp_path)
    for id in range(12):
        if id in known:
            assert ours.decode([id]) == known[id]
            continue
        reason = "less than 10 and leave it out$" if id < 10 else "less than 10$"
        for decode in (ours.decode, ours.decode_stream().push):
            with pytest.raises(ps.ContractError, match=f"id {id} is not in the .* {reason}"):
                decode(id)


def test_threads_share_a_tokenizer(ours: ps.Tokenizer) -> None:
    expected = [ours.encode(text) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        for ids in pool.map(lambda _: [ours.encode(text) for text in TEXTS], range(200)):
            assert ids == expected


def test_it_is_not_pickled(ours: ps.Tokenizer) -> None:
    for duplicate in (pickle.dumps, copy.copy):
        with pytest.raises(ps.UnsupportedError, match="open"):
            duplicate(ours)


def test_it_imports_neither_torch_nor_transformers(path: Path) -> None:
    program = (
        "import sys, polystate as ps\n"
        f"assert ps.Tokenizer.open({str(path)!r}).encode('Hello')\n"
        "assert not {'torch', 'transformers', 'tokenizers'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
