"""``ps.pipeline`` and ``Model.generate`` over a model without an encoder, beside transformers."""

from __future__ import annotations

import asyncio
import math
import random
import threading
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoTokenizer,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    TextGenerationPipeline,
)

import polystate as ps
from tests.support.toy_completion import LENGTH, toy_completion
from tests.support.toy_translation import toy_translation

TEXTS = ["I like", "Where is the station?", "He", "Ça va", "I like it very much."]


@pytest.fixture(scope="module")
def complete() -> ps.Pipeline:
    return ps.pipeline(toy_completion() / "toy")


@pytest.fixture(scope="module")
def reference() -> TextGenerationPipeline:
    folder = toy_completion() / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    return TextGenerationPipeline(LlamaForCausalLM.from_pretrained(folder), tokenizer)


@pytest.fixture(scope="module")
def tokenizer(reference: TextGenerationPipeline) -> PreTrainedTokenizerBase:
    tokenizer = reference.tokenizer
    assert tokenizer is not None
    return tokenizer


@pytest.mark.parametrize(
    "options",
    [
        {"max_new_tokens": 9},
        {"max_new_tokens": 9, "return_full_text": False},
        {"max_new_tokens": 9, "skip_special_tokens": False, "add_special_tokens": False},
        {"max_length": 24, "repetition_penalty": 1.5, "no_repeat_ngram_size": 2},
        {"max_new_tokens": 6, "num_beams": 3, "num_return_sequences": 2},
    ],
)
def test_answers_are_those_of_transformers(
    complete: ps.Pipeline, reference: TextGenerationPipeline, options: dict[str, Any]
) -> None:
    assert complete.task == "text-generation"
    for given in (TEXTS, TEXTS[:1], TEXTS[0]):
        expected = reference(given, do_sample=False, **options)
        assert complete(given, do_sample=False, **options) == expected


def test_an_empty_prompt_starts_from_nothing(
    complete: ps.Pipeline, reference: TextGenerationPipeline
) -> None:
    for options in ({}, {"add_special_tokens": False}):
        expected = reference("", do_sample=False, max_new_tokens=9, **options)
        assert complete("", max_new_tokens=9, **options) == expected


def test_an_answer_ends_where_transformers_ends_it(
    complete: ps.Pipeline, reference: TextGenerationPipeline, tokenizer: PreTrainedTokenizerBase
) -> None:
    for text in TEXTS:
        (whole,) = reference(text, do_sample=False, max_new_tokens=12, return_full_text=False)
        stop = next((each for each in whole["generated_text"] if each.isascii()), "e")
        options = {"stop_strings": ["no such text", stop], "max_new_tokens": 20}
        expected = reference(text, do_sample=False, tokenizer=tokenizer, **options)
        assert complete(text, **options) == expected


def test_sampling_is_repeatable_by_its_seed(complete: ps.Pipeline) -> None:
    options = {"do_sample": True, "num_return_sequences": 4, "max_new_tokens": 8}
    drawn = complete(TEXTS[0], seed=3, **options)
    assert len({each["generated_text"] for each in drawn}) > 1
    assert complete(TEXTS[0], seed=3, **options) == drawn
    assert complete(TEXTS[0], seed=4, **options) != drawn


def test_one_call_gives_what_follows(complete: ps.Pipeline) -> None:
    follows = ps.generate(complete.model, TEXTS[0], max_new_tokens=8)
    full = ps.generate(complete.model, TEXTS[0], max_new_tokens=8, return_full_text=True)
    assert full == TEXTS[0] + follows
    assert complete(TEXTS[0], max_new_tokens=8) == [{"generated_text": full}]


def test_only_models_that_continue_texts_return_them() -> None:
    translate = ps.pipeline(toy_translation())
    assert not translate.continues_texts
    with pytest.raises(ps.ContractError, match="this one has an encoder"):
        translate("Hi", return_full_text=True)


@pytest.mark.parametrize(
    "name", ["return_full_text", "add_special_tokens", "skip_special_tokens", "truncation"]
)
def test_what_is_neither_true_nor_false_is_refused(complete: ps.Pipeline, name: str) -> None:
    with pytest.raises(ps.ContractError, match=f"{name} is 1; True or False"):
        complete(TEXTS[0], **{name: 1})


def test_a_long_prompt_loses_its_beginning_where_it_may(
    complete: ps.Pipeline, tokenizer: PreTrainedTokenizerBase
) -> None:
    text = "I like it very much. " * 20
    with pytest.raises(ps.ContractError, match=f"the model has room for {LENGTH}"):
        complete(text, max_new_tokens=8)
    first, *ids = tokenizer(text).input_ids
    kept = [first, *ids[len(ids) - (LENGTH - 8 - 1) :]]
    expected = complete.model.generate(kept, max_new_tokens=8).sequences[0][-8:]
    (answer,) = complete(text, truncation=True, max_new_tokens=8, return_full_text=False)
    assert answer["generated_text"] == tokenizer.decode(expected, skip_special_tokens=True)


def test_a_stream_gives_the_answer_piece_by_piece(complete: ps.Pipeline) -> None:
    for text in TEXTS:
        pieces = list(complete.stream(text, max_new_tokens=12))
        assert len(pieces) > 1
        assert "".join(pieces) == ps.generate(complete.model, text, max_new_tokens=12)


def test_a_stream_of_a_translation_is_its_text() -> None:
    translate = ps.pipeline(toy_translation())
    (whole,) = translate("I like it.", num_beams=1)
    assert "".join(translate.stream("I like it.", num_beams=1)) == whole["translation_text"]


def test_a_stream_ends_where_nobody_listens(complete: ps.Pipeline) -> None:
    before = threading.active_count()
    stream = complete.stream(TEXTS[0], eos_token_id=None)
    first = next(stream)
    stream.close()
    assert threading.active_count() == before
    assert next(stream, None) is None
    assert ps.generate(complete.model, TEXTS[0]).startswith(first)
    complete.stream(TEXTS[0])  # one that is not asked for a piece does not start
    assert threading.active_count() == before


def test_a_stream_raises_what_its_generation_raises(complete: ps.Pipeline) -> None:
    def fail(tokens: list[int], scores: np.ndarray[Any, Any]) -> None:
        if len(tokens) == 6:
            raise KeyError("mine")

    heard: list[str] = []
    with pytest.raises(KeyError, match="mine"):
        heard.extend(complete.stream(TEXTS[0], logits_processor=[fail]))
    assert heard
    with pytest.raises(ps.ContractError, match="there is no such field"):
        list(complete.stream(TEXTS[0], beams=2))
    with pytest.raises(ps.ContractError, match="the text is a list"):
        complete.stream(TEXTS)


def test_async_streams_run_side_by_side(complete: ps.Pipeline) -> None:
    async def read(text: str, order: list[str]) -> str:
        pieces = []
        async for piece in complete.stream_async(text, max_new_tokens=20):
            order.append(text)
            pieces.append(piece)
        return "".join(pieces)

    async def read_all() -> tuple[list[str], list[str]]:
        order: list[str] = []
        return await asyncio.gather(*(read(text, order) for text in TEXTS)), order

    found, order = asyncio.run(read_all())
    assert found == [ps.generate(complete.model, text, max_new_tokens=20) for text in TEXTS]
    assert order != sorted(order)


def test_an_async_stream_that_is_left_ends(complete: ps.Pipeline) -> None:
    async def leave() -> str:
        stream = complete.stream_async(TEXTS[0], eos_token_id=None)
        async for piece in stream:
            await stream.aclose()  # type: ignore[attr-defined]
            return piece
        raise AssertionError

    async def cancel() -> None:
        async def read() -> None:
            async for _ in complete.stream_async(TEXTS[0], eos_token_id=None):
                started.set()

        started = asyncio.Event()
        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert ps.generate(complete.model, TEXTS[0]).startswith(asyncio.run(leave()))
    asyncio.run(cancel())


def test_sequences_are_those_of_transformers(
    complete: ps.Pipeline, reference: TextGenerationPipeline, tokenizer: PreTrainedTokenizerBase
) -> None:
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    ends = {"eos_token_id": list(range(40, 80))}  # so that sequences end at different lengths
    for count, options in (
        (1, {}),
        (1, ends),
        (2, {"num_beams": 3, "num_return_sequences": 2, **ends}),
    ):
        expected = reference.model.generate(**inputs, do_sample=False, max_new_tokens=12, **options)
        found = complete.model.generate(**inputs, max_new_tokens=12, **options)
        np.testing.assert_array_equal(found.padded, expected.numpy())
        begins = inputs["attention_mask"].argmax(1).repeat_interleave(count).tolist()
        for row, begin, sequence in zip(found.padded, begins, found.sequences, strict=True):
            assert row[begin : begin + len(sequence)].tolist() == sequence
            assert set(row[begin + len(sequence) :]) <= {tokenizer.pad_token_id}
    lists = [tokenizer(text).input_ids for text in TEXTS]
    by_lists = complete.model.generate(lists, max_new_tokens=12)
    assert by_lists.sequences == complete.model.generate(**inputs, max_new_tokens=12).sequences
    for row, ids in zip(by_lists.sequences, lists, strict=True):
        assert row[: len(ids)] == ids


def test_outputs_compare_by_what_was_generated(complete: ps.Pipeline) -> None:
    arrays = {"output_scores": True, "output_logits": True, "max_new_tokens": 4}
    one, again = (complete.model.generate([0, 41], **arrays) for _ in range(2))
    assert one.sequences == again.sequences
    assert one != complete.model.generate([0, 42], **arrays)


def test_padding_at_the_beginning_needs_no_mask(complete: ps.Pipeline) -> None:
    prompt = [0, 41, 70]
    expected = complete.model.generate(prompt, max_new_tokens=5).sequences
    padded = torch.tensor([[300, 300, *prompt]])
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    by_mask = complete.model.generate(padded, attention_mask=mask, max_new_tokens=5)
    assert by_mask.sequences == expected
    assert by_mask.padded.tolist() == [[300, 300, *expected[0]]]
    # </s> is the padding and ends texts: it may be meant, and transformers takes it so.
    ends = complete.model.generate(np.array([[1, 1, *prompt]]), max_new_tokens=5)
    assert ends.sequences[0][:5] == [1, 1, *prompt]


def test_prompts_are_given_as_input_ids(complete: ps.Pipeline) -> None:
    with pytest.raises(ps.ContractError, match="input_ids are the prompt"):
        complete.model.generate([0, 5], decoder_input_ids=[0])


def test_scores_are_log_probabilities_of_the_model(
    complete: ps.Pipeline, reference: TextGenerationPipeline, tokenizer: PreTrainedTokenizerBase
) -> None:
    scores = complete.score([*TEXTS, ""])
    for text, score in zip([*TEXTS, ""], scores.texts, strict=True):
        logprobs = logprobs_of(reference, tokenizer(text).input_ids)
        assert score.tokens == len(logprobs)
        assert score.logprob == pytest.approx(sum(logprobs), abs=1e-3)
    assert scores.tokens == sum(score.tokens for score in scores.texts)
    assert scores.perplexity == pytest.approx(math.exp(-scores.logprob / scores.tokens))
    assert complete.score(TEXTS[0]).texts == scores.texts[:1]
    assert math.isnan(complete.score([]).mean_nll)


@pytest.mark.parametrize("stride", [None, 1, 17, LENGTH - 1])
def test_a_long_text_is_scored_as_the_guide_to_perplexity_does(
    complete: ps.Pipeline,
    reference: TextGenerationPipeline,
    tokenizer: PreTrainedTokenizerBase,
    stride: int | None,
) -> None:
    """By huggingface.co's guide: windows of the model's length, which count what is new in them."""
    words = random.Random(0).choices(["I", "like", "it", "very", "much", "never"], k=80)
    text = " ".join(words)
    ids = tokenizer(text).input_ids
    assert len(ids) > 1.5 * LENGTH
    step = stride or LENGTH // 2
    expected, counted, previous_end = 0.0, 0, 1
    for begin in range(0, len(ids), step):
        end = min(begin + LENGTH, len(ids))
        new = logprobs_of(reference, ids[begin:end])[previous_end - begin - 1 :]
        expected, counted, previous_end = expected + sum(new), counted + len(new), end
        if end == len(ids):
            break
    found = complete.score(text, stride=stride)
    assert found.tokens == counted == len(ids) - 1
    assert found.logprob == pytest.approx(expected, rel=1e-5)


def logprobs_of(reference: TextGenerationPipeline, ids: list[int]) -> list[float]:
    """Those of all tokens but the first."""
    with torch.no_grad():
        logprobs = reference.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [logprobs[i, token].item() for i, token in enumerate(ids[1:])]


@pytest.mark.parametrize("stride", [0, -1, LENGTH, 10**30, "1", True])
def test_a_stride_that_leaves_no_overlap_is_refused(complete: ps.Pipeline, stride: Any) -> None:
    with pytest.raises(ps.ContractError, match="stride is"):
        complete.score("Hi", stride=stride)


def test_a_translation_model_scores_no_texts() -> None:
    with pytest.raises(ps.UnsupportedError, match="has an encoder"):
        ps.pipeline(toy_translation()).score("Hi")
