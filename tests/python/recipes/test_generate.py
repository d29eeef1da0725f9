"""What exported encoder-decoders generate, beside transformers' own ``generate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import LONGEST, NAMES, VOCABULARY, tiny_model
from transformers import PreTrainedModel

import polystate as ps

SOURCES = 7
ROWS = 12

# By what each says of a generation; together every option that changes a result without chance.
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "two beams": {"num_beams": 2},
    "three beams, the first to end": {"num_beams": 3, "early_stopping": True},
    "four beams, none can be better": {"num_beams": 4, "early_stopping": "never"},
    "five beams": {"num_beams": 5},
    "several of each": {"num_beams": 4, "num_return_sequences": 3},
    "long ones preferred": {"num_beams": 3, "length_penalty": 2.0, "early_stopping": "never"},
    "short ones preferred": {"num_beams": 3, "length_penalty": -1.0},
    "lengths without effect": {"num_beams": 3, "length_penalty": 0.0},
    "a minimum length": {"min_length": 9, "num_beams": 2},
    "a minimum of new tokens": {"min_new_tokens": 7},
    "a maximum of new tokens": {"max_new_tokens": 5, "num_beams": 2},
    "several ends": {"eos_token_id": [2, 5, 11, 23], "num_beams": 3},
    "a forced beginning": {"forced_bos_token_id": 9, "num_beams": 2},
    "a forced end": {"forced_eos_token_id": 2, "max_length": 8, "num_beams": 3},
    "suppressed tokens": {"suppress_tokens": [3, 4, 5, 30], "begin_suppress_tokens": [6, 8]},
    "bad words": {"bad_words_ids": [[7], [12, 13], [20, 21, 22]], "num_beams": 2},
    "repetition": {"repetition_penalty": 1.7, "encoder_repetition_penalty": 1.3},
    "repetition with beams": {"repetition_penalty": 0.8, "num_beams": 3},
    "no repeated pairs": {"no_repeat_ngram_size": 2, "num_beams": 2},
    "no pairs of the source": {"encoder_no_repeat_ngram_size": 2, "no_repeat_ngram_size": 3},
    "a longer one costs": {"exponential_decay_length_penalty": (4, 1.3), "num_beams": 2},
    "biased tokens": {"sequence_bias": [[[10], 2.0], [[14, 15], -3.0]]},
    "normalized again": {"renormalize_logits": True, "suppress_tokens": [3, 9], "num_beams": 3},
}


@pytest.fixture(scope="module", params=NAMES)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PreTrainedModel, ps.Model]:
    model = tiny_model(request.param)
    out = tmp_path_factory.mktemp(request.param) / "artifact"
    ps.export_pretrained(model, out, max_length=LONGEST, max_batch=ROWS)
    return tiny_model(request.param), ps.load(out)


def sources(model: PreTrainedModel) -> list[list[int]]:
    """Random sources of different lengths, without padding."""
    generator = torch.Generator().manual_seed(1)
    low = 3
    lengths = [1, LONGEST, *torch.randint(2, LONGEST, (SOURCES - 2,), generator=generator).tolist()]
    return [torch.randint(low, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


def expected(
    model: PreTrainedModel, source: list[int], options: dict[str, Any]
) -> tuple[list[list[int]], list[float] | None]:
    """What transformers generates for one source: sequences up to their ends, and scores."""
    options = {"max_length": LONGEST, **options}
    if "max_new_tokens" in options:
        del options["max_length"]
    with torch.no_grad():
        output = model.generate(
            torch.tensor([source]),
            attention_mask=torch.ones(1, len(source), dtype=torch.int64),
            return_dict_in_generate=True,
            output_scores=True,
            **options,
        )
    ends = options.get("eos_token_id", model.generation_config.eos_token_id)
    ends = ends if isinstance(ends, list) else [ends]
    sequences = [up_to_the_end(row.tolist(), ends) for row in output.sequences]
    scores = output.get("sequences_scores")
    return sequences, None if scores is None else scores.tolist()


def tolerance(options: dict[str, Any]) -> float:
    """What a score may be off, so that the mean log-probability of a token is off by 1e-4.

    A score is the sum of the log-probabilities, divided by a power of the length.
    """
    penalty: float = options.get("length_penalty", 1.0)
    return 1e-4 * LONGEST ** max(0.0, 1.0 - penalty)


def up_to_the_end(ids: list[int], ends: list[int]) -> list[int]:
    for place, token in enumerate(ids[1:], start=1):
        if token in ends:
            return ids[: place + 1]
    return ids


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_sequences_and_scores_are_those_of_transformers(
    exported: tuple[PreTrainedModel, ps.Model], options: dict[str, Any]
) -> None:
    model, artifact = exported
    given = sources(model)
    length = {} if "max_new_tokens" in options else {"max_length": LONGEST}
    found = artifact.generate(given, **{**length, **options})
    wanted = [expected(model, source, options) for source in given]
    assert found.sequences == [sequence for sequences, _ in wanted for sequence in sequences]
    if found.sequences_scores is None:
        assert wanted[0][1] is None
    else:
        scores = [score for _, scores in wanted for score in scores or []]
        assert found.sequences_scores == pytest.approx(scores, abs=tolerance(options), rel=1e-5)


def test_a_result_does_not_depend_on_what_runs_beside_it(
    exported: tuple[PreTrainedModel, ps.Model],
) -> None:
    model, artifact = exported
    given = sources(model)
    for beams in (1, 3):
        together = artifact.generate(given * 4, num_beams=beams, max_length=LONGEST)
        alone = [artifact.generate(source, num_beams=beams, max_length=LONGEST) for source in given]
        assert together.sequences == [each.sequences[0] for each in alone] * 4
        if beams > 1:
            assert together.sequences_scores is not None
            scores = [each.sequences_scores for each in alone]
            assert together.sequences_scores == [each[0] for each in scores if each] * 4


def test_what_is_sampled_depends_on_the_seed_alone(
    exported: tuple[PreTrainedModel, ps.Model],
) -> None:
    model, artifact = exported
    given = sources(model)
    first = artifact.generate(given, do_sample=True, seed=5, max_length=LONGEST)
    again = artifact.generate(given, do_sample=True, seed=5, max_length=LONGEST)
    other = artifact.generate(given, do_sample=True, seed=6, max_length=LONGEST)
    assert first.sequences == again.sequences
    assert first.sequences != other.sequences


def test_given_first_tokens_are_kept(exported: tuple[PreTrainedModel, ps.Model]) -> None:
    model, artifact = exported
    start = model.generation_config.decoder_start_token_id
    prompt = [start, 9, 17, 12]
    source = sources(model)[2]
    with torch.no_grad():
        wanted = model.generate(
            torch.tensor([source]),
            attention_mask=torch.ones(1, len(source), dtype=torch.int64),
            decoder_input_ids=torch.tensor([prompt]),
            max_length=LONGEST,
            num_beams=2,
        )
    found = artifact.generate(source, decoder_input_ids=prompt, max_length=LONGEST, num_beams=2)
    end = model.generation_config.eos_token_id
    assert found.sequences[0] == up_to_the_end(wanted[0].tolist(), [end])


def test_the_artifact_says_what_it_takes(
    exported: tuple[PreTrainedModel, ps.Model], tmp_path: Path
) -> None:
    _, artifact = exported
    assert artifact.constants["max_batch"] == ROWS
    assert artifact.constants["max_source_length"] == LONGEST
    assert set(artifact.methods) == {"encode", "decode", "copy_pages"}
    with pytest.raises(ps.ContractError, match=f"{LONGEST}"):
        artifact.generate([5] * (LONGEST + 1))
