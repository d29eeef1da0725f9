"""``stop_strings`` end a generation where transformers' StopStringCriteria does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, StopStringCriteria

import polystate as ps
from tests.support.toy_translation import toy_translation

TEXTS = [
    "Where is the station? It stops there, at the stop.\n\nUser: thanks",
    "Le café est fermé à midi, déjà; l'été, où es-tu?",
    "日本語の文章です。終わり。もう一度、終わり。",
    "😀 smiles 👍🏽 and 👩‍👩‍👧‍👦 families ❤️ end </s><|end|> end",
]


@pytest.fixture(scope="module")
def model() -> ps.Model:
    return ps.load(toy_translation())


@pytest.fixture(scope="module", params=["bytes", "fallback"])
def library(request: pytest.FixtureRequest) -> Tokenizer:
    """A byte-level tokenizer, and one of characters that falls back on bytes."""
    special = ["<|end|>", "</s>", "<unk>"]
    if request.param == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False, prepend_scheme="never")
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        )
        alphabet = list("abcdefghijklmnopqrstuvwxyz,.;:?'LUWI")
        special += [f"<0x{byte:02X}>" for byte in range(256)]
    limit = {"bytes": 256, "fallback": 30}[request.param]
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=alphabet, limit_alphabet=limit
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    return tokenizer


def drawn(numbers: random.Random, library: Tokenizer) -> tuple[list[int], list[str]]:
    """Return a text as tokens, some cut into bytes, and strings that it mostly has."""
    text = "".join(numbers.sample(TEXTS, 2))
    start = numbers.randrange(len(text) - 40)
    part = text[start : start + numbers.randint(10, 40)]
    tokens: list[int] = []
    while part:  # in pieces, so that tokens are not those of the whole
        size = numbers.randint(1, 6)
        tokens += library.encode(part[:size], add_special_tokens=False).ids
        part = part[size:]
    whole = library.decode(tokens, skip_special_tokens=False)
    strings = []
    for _ in range(numbers.randint(1, 3)):
        first = numbers.randrange(len(whole))
        strings.append(whole[first : first + numbers.randint(1, 6)])
    if numbers.random() < 0.2:
        strings = ["nowhere"]
    return tokens, [string for string in strings if "\ufffd" not in string] or ["nowhere"]


def ends(criterion: StopStringCriteria, tokens: Sequence[int], prompt: int) -> int:
    """Return after how many tokens transformers ends, the prompt's not asked about."""
    for length in range(prompt + 1, len(tokens) + 1):
        if criterion(torch.tensor([tokens[:length]]), torch.zeros(0)).item():
            return length
    return len(tokens)


def generated(
    model: ps.Model, tokens: list[int], prompt: int, names: dict[str, Any]
) -> ps.GenerateOutput:
    """Return what a model that says these tokens generates after the first of them."""
    rest = iter(tokens[prompt:])
    return model.generate(
        [5, 0],
        decoder_input_ids=tokens[:prompt],
        sampler=lambda _: next(rest),
        num_beams=1,
        eos_token_id=None,
        forced_eos_token_id=None,
        max_new_tokens=len(tokens) - prompt,
        **names,
    )


def test_a_generation_ends_where_transformers_ends_it(
    model: ps.Model, library: Tokenizer, tmp_path: Path
) -> None:
    library.save(str(tmp_path / "tokenizer.json"))
    ours = ps.Tokenizer.open(tmp_path)
    theirs = PreTrainedTokenizerFast(tokenizer_object=library)
    numbers = random.Random(5)
    stopped = 0
    for _ in range(150):
        tokens, strings = drawn(numbers, library)
        prompt = numbers.randint(1, max(1, len(tokens) // 3))
        if prompt == len(tokens):
            continue
        wanted = ends(StopStringCriteria(theirs, strings), tokens, prompt)
        found = generated(model, tokens, prompt, {"stop_strings": strings, "tokenizer": ours})
        case = (theirs.convert_ids_to_tokens(tokens), prompt, strings)
        assert found.sequences == [tokens[:wanted]], case
        if wanted < len(tokens):
            assert found.finish_reasons == ["stop_string"], case
            stopped += 1
    assert stopped > 50


def test_the_artifact_s_own_tokenizer_is_used_and_beams_end_too(model: ps.Model) -> None:
    tokenizer = ps.Tokenizer.open(toy_translation())
    ids = tokenizer.encode("I like it very much.")
    for beams in (1, 3):
        whole = model.generate(ids, num_beams=beams).sequences[0]
        middle = tokenizer.decode(whole[: len(whole) // 2 + 1])[-3:]
        found = model.generate(ids, num_beams=beams, stop_strings=middle)
        assert found.finish_reasons == ["stop_string"]
        assert middle in tokenizer.decode(found.sequences[0])
        assert middle not in tokenizer.decode(found.sequences[0][:-1])
        assert len(found.sequences[0]) <= len(whole)


def test_a_pipeline_takes_them(model: ps.Model) -> None:
    translate = ps.pipeline(model)
    whole = translate("I like it very much.", num_beams=1)[0]["translation_text"]
    string = whole[2:5]
    short = translate("I like it very much.", num_beams=1, stop_strings=[string])
    text = short[0]["translation_text"]
    assert string in text
    assert whole.startswith(text)


def test_a_criterion_of_the_user_s_ends_a_sequence(model: ps.Model) -> None:
    seen: list[list[int]] = []

    def has_four(tokens: list[int]) -> bool:
        seen.append(tokens)
        return len(tokens) == 4

    found = model.generate([5, 0], num_beams=1, stopping_criteria=[has_four])
    assert len(found.sequences[0]) == 4
    assert found.finish_reasons == ["stopping_criterion"]
    assert seen == [found.sequences[0][:length] for length in (2, 3, 4)]
    with pytest.raises(KeyError, match="mine"):
        model.generate([5, 0], stopping_criteria=[lambda _: {}["mine"]])
    with pytest.raises(ps.ContractError, match="a list of functions is needed"):
        model.generate([5, 0], stopping_criteria=len)  # type: ignore[arg-type]
