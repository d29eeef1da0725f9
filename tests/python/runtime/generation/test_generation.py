"""``Model.generate``: what it takes, gives and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps


def test_ids_may_be_lists_or_arrays(model: ps.Model, ids: list[int]) -> None:
    expected = model.generate(ids, num_beams=1).sequences
    padding = model.constants["padding_id"]
    padded = [[*ids, padding], [*ids[1:], padding, padding]]
    mask = [[1] * len(ids) + [0], [1] * (len(ids) - 1) + [0, 0]]
    forms: list[Any] = [[ids], np.array([ids]), torch.tensor(ids), [np.array(ids)]]
    for form in forms:
        assert model.generate(form, num_beams=1).sequences == expected
    by_padding = model.generate(np.array(padded), num_beams=1).sequences
    by_mask = model.generate(padded, attention_mask=np.array(mask) == 1, num_beams=1).sequences
    assert by_padding[0] == expected[0]
    assert by_padding == by_mask


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "input_ids is a NoneType"),
        ("Hi", "input_ids is a str"),
        (np.array(5), "input_ids is a ndarray"),
        (np.array([5.0]), "has 5.0, which is no id"),
        (np.zeros((1, 2, 3), int), "which is no id"),
        ([True], "has True, which is no id"),
        ([-1], "has -1, which is no id"),
        ([2**32], "which is no id"),
        ([5, [6]], "ids beside lists of ids"),
        ([], "the source is empty"),
        ([99999], "99999 is past the vocabulary"),
        ([5] * 257, "the source has 257 tokens; the model takes 256"),
    ],
)
def test_ids_of_another_kind_are_refused(model: ps.Model, given: Any, message: str) -> None:
    with pytest.raises(ps.ContractError, match=message):
        model.generate(given)


def test_a_mask_and_prompts_fit_their_inputs(model: ps.Model, ids: list[int]) -> None:
    with pytest.raises(ps.ContractError, match="another shape"):
        model.generate(ids, attention_mask=[1])
    with pytest.raises(ps.ContractError, match="decoder_input_ids are 2 and input_ids 1"):
        model.generate(ids, decoder_input_ids=[[0], [0]])


def test_a_prompt_is_gone_on_from(model: ps.Model, ids: list[int]) -> None:
    (whole,) = model.generate(ids, num_beams=1).sequences
    assert model.generate(ids, decoder_input_ids=whole[:3], num_beams=1).sequences == [whole]


def test_a_sequence_that_is_kept_is_not_read_again(model: ps.Model, ids: list[int]) -> None:
    options: dict[str, Any] = {"num_beams": 1, "max_new_tokens": 6, "eos_token_id": None}
    first = model.generate(ids, keep=True, **options)
    assert first.kept is not None
    assert first.kept[0] is not None
    (tokens,) = first.sequences
    assert first.kept[0].tokens == tokens[:-1]
    for length in (len(tokens), 4):
        prompt = [*tokens[:length], 9]
        again = model.generate(ids, decoder_input_ids=prompt, kept=first.kept, **options)
        anew = model.generate(ids, decoder_input_ids=prompt, **options)
        assert again.sequences == anew.sequences
        assert again.usage[0].cached_tokens == min(length, len(tokens) - 1)
        assert anew.usage[0].cached_tokens == 0
        assert again.kept is None
    with pytest.raises(ps.ContractError, match="kept are 1 and input_ids 2"):
        model.generate([ids, ids], kept=first.kept, **options)


@pytest.mark.parametrize("beams", [1, 4])
def test_a_generation_ends_when_its_time_is_over(model: ps.Model, beams: int) -> None:
    ids = model.generate([5, 0], num_beams=beams, max_time=0.0).sequences[0]
    assert len(ids) == 2
    whole = model.generate([5, 0], num_beams=beams).sequences
    assert model.generate([5, 0], num_beams=beams, max_time=1e6).sequences == whole


def test_beams_have_scores(model: ps.Model, ids: list[int]) -> None:
    found = model.generate(ids, num_beams=3, num_return_sequences=3)
    assert found.sequences_scores == sorted(found.sequences_scores or [], reverse=True)
    assert len(found.sequences) == 3
    assert model.generate(ids, num_beams=1).sequences_scores is None


@pytest.mark.parametrize("beams", [1, 3])
def test_scores_logits_and_log_probabilities_are_given_token_by_token(
    model: ps.Model, ids: list[int], beams: int
) -> None:
    found = model.generate(
        [ids, ids[:2]],
        num_beams=beams,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        logprobs=3,
    )
    assert found.scores is not None
    assert found.logits is not None
    assert found.logprobs is not None
    vocabulary = model.constants["vocabulary_size"]
    assert {step.shape for step in (*found.scores, *found.logits)} == {(2, vocabulary)}
    lengths = [len(sequence) - 1 for sequence in found.sequences]
    assert len(found.scores) == len(found.logits) == max(lengths)
    for i, sequence in enumerate(found.sequences):
        assert len(found.logprobs[i]) == lengths[i]
        for t, given in enumerate(found.logprobs[i]):
            expected = torch.log_softmax(torch.from_numpy(found.logits[t][i]).double(), 0)
            assert given.token == sequence[t + 1]
            assert given.logprob == pytest.approx(expected[given.token].item(), abs=1e-5)
            assert list(given.top) == expected.topk(3).indices.tolist()
        assert all(np.isnan(step[i]).all() for step in found.scores[lengths[i] :])
    plain = model.generate([ids, ids[:2]], num_beams=beams)
    assert plain.sequences == found.sequences
    assert plain.scores is plain.logits is plain.logprobs is plain.prompt_logprobs is None


def test_a_text_is_scored_without_generating(model: ps.Model, ids: list[int]) -> None:
    (target,) = model.generate(ids, num_beams=1).sequences
    found = model.generate(
        ids, decoder_input_ids=target, num_beams=1, prompt_logprobs=1, max_new_tokens=0
    )
    assert found.sequences == [target]
    assert found.usage[0].generated_tokens == 0
    assert found.prompt_logprobs is not None
    first, *rest = found.prompt_logprobs[0]
    assert first is None
    again = model.generate(ids, num_beams=1, logprobs=0).logprobs
    assert again is not None
    for given, generated in zip(rest, again[0], strict=True):
        assert given is not None
        assert given.token == generated.token
        assert given.logprob == pytest.approx(generated.logprob, abs=1e-4)
    with pytest.raises(ps.ContractError, match="max_new_tokens"):
        model.generate(ids, max_new_tokens=0)


def test_an_answer_says_what_it_cost(model: ps.Model, ids: list[int]) -> None:
    page = model.constants["page_size"]
    output = model.generate([ids, ids], num_beams=1, max_new_tokens=page, eos_token_id=None)
    first, again = output.usage
    assert first == ps.Usage(len(ids) + 1, 0, page, 2)
    assert again == ps.Usage(len(ids) + 1, len(ids) + 1, page, 0)
    (beams,) = model.generate(ids, num_beams=3, max_new_tokens=page, eos_token_id=None).usage
    assert beams == ps.Usage(len(ids) + 1, 0, page, 6)
