"""What exported encoder-decoders generate, beside transformers' own ``generate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

import polystate as ps
from tests.python.recipes.tiny_models import (
    LONGEST,
    NAMES,
    ROWS,
    VOCABULARY,
    tiny_artifact,
    tiny_model,
)

SOURCES = 7

BEAMS = (1, 2, 3, 4, 5)

# By what each says of a generation; together every option that changes a result without chance.
# Each goes with any number of beams.
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the first to end": {"early_stopping": True},
    "none can be better": {"early_stopping": "never"},
    "several of each": {"num_return_sequences": 2},
    "long ones preferred": {"length_penalty": 2.0, "early_stopping": "never"},
    "short ones preferred": {"length_penalty": -1.0},
    "lengths without effect": {"length_penalty": 0.0},
    "a minimum length": {"min_length": 9},
    "a minimum of new tokens": {"min_new_tokens": 7},
    "a maximum of new tokens": {"max_new_tokens": 5},
    "several ends": {"eos_token_id": [2, 5, 11, 23]},
    "a forced beginning": {"forced_bos_token_id": 9},
    "a forced end": {"forced_eos_token_id": 2, "max_length": 8},
    "suppressed tokens": {"suppress_tokens": [3, 4, 5, 30], "begin_suppress_tokens": [6, 8]},
    "bad words": {"bad_words_ids": [[7], [12, 13], [20, 21, 22]]},
    "repetition": {"repetition_penalty": 1.7, "encoder_repetition_penalty": 1.3},
    "repetition preferred": {"repetition_penalty": 0.8},
    "no repeated pairs": {"no_repeat_ngram_size": 2},
    "no pairs of the source": {"encoder_no_repeat_ngram_size": 2, "no_repeat_ngram_size": 3},
    "a longer one costs": {"exponential_decay_length_penalty": (4, 1.3)},
    "biased tokens": {"sequence_bias": [[[10], 2.0], [[14, 15], -3.0]]},
    "normalized again": {"renormalize_logits": True, "suppress_tokens": [3, 9]},
}


# By model, the recipes that every run tries: AOTInductor takes long to compile.
SAMPLED = {name: ("xnnpack", "aoti") if name == "t5" else ("xnnpack",) for name in NAMES}


def cases() -> Iterator[Any]:
    """Each model with each of the options and each number of beams, on each engine.

    Every run has each second of the options for a model and the others for the next one, with one
    of the numbers, another for each; the rest is exhaustive.
    """
    for recipe in ("xnnpack", "aoti"):
        for i, model in enumerate(NAMES):
            for j, (name, options) in enumerate(OPTIONS.items()):
                for beams in BEAMS:
                    if options.get("num_return_sequences", 1) > beams:
                        continue
                    drawn = (beams - i - j) % len(BEAMS) == 0 and (i + j) % 2 == 0
                    sampled = drawn and recipe in SAMPLED[model]
                    marks = [] if sampled else [pytest.mark.exhaustive]
                    with_beams = {**options, "num_beams": beams}
                    label = f"{recipe}-{model}-{name}-{beams}"
                    yield pytest.param((model, recipe), with_beams, id=label, marks=marks)


Exports = Callable[[str, str], tuple[PreTrainedModel, ps.Model]]


@pytest.fixture(scope="module")
def exports() -> Exports:
    """By a model's name and a recipe, the model and its artifact, made when first asked for."""

    @cache
    def exported(name: str, recipe: str) -> tuple[PreTrainedModel, ps.Model]:
        return tiny_model(name), ps.load(tiny_artifact(name, recipe), trust_code=True)

    return exported


@pytest.fixture(params=NAMES)
def exported(request: pytest.FixtureRequest, exports: Exports) -> tuple[PreTrainedModel, ps.Model]:
    return exports(request.param, "xnnpack")


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
    """What a score may be off: the log-probability of its sequence is off by 1e-4 at the most.

    A score is the log-probability by a power of the length, which may be one to multiply with.
    """
    penalty: float = options.get("length_penalty", 1.0)
    return 1e-4 * LONGEST ** max(0.0, -penalty)


def up_to_the_end(ids: list[int], ends: list[int]) -> list[int]:
    for place, token in enumerate(ids[1:], start=1):
        if token in ends:
            return ids[: place + 1]
    return ids


@pytest.mark.parametrize(("exported_as", "options"), [*cases()])
def test_sequences_and_scores_are_those_of_transformers(
    exports: Exports, exported_as: tuple[str, str], options: dict[str, Any]
) -> None:
    model, artifact = exports(*exported_as)
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
    """Padding inside of them too, which M2M100's positions do not count."""
    check_first_tokens(*exported)


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["portable", "xnnpack_q8", "aoti"])
def test_given_first_tokens_are_kept_on_other_engines(exports: Exports, recipe: str) -> None:
    check_first_tokens(*exports("m2m100", recipe), exact=recipe != "xnnpack_q8")


@pytest.mark.parametrize(
    ("name", "recipe"), [("t5", "xnnpack"), ("bart", "xnnpack"), ("t5", "aoti")]
)
def test_long_first_tokens_are_read_in_chunks(exports: Exports, name: str, recipe: str) -> None:
    """Together they are more than a step takes, and are cut where it ends."""
    model, artifact = exports(name, recipe)
    given = sources(model)
    start = model.generation_config.decoder_start_token_id
    prompts = [[start, *source * LONGEST][: LONGEST - 3] for source in given]
    assert sum(map(len, prompts)) > 2 * int(artifact.constants["max_step_tokens"])
    for beams in (1, 3):
        options = {"max_length": LONGEST, "num_beams": beams}
        found = artifact.generate(given, decoder_input_ids=prompts, **options)
        for source, prompt, sequence in zip(given, prompts, found.sequences, strict=True):
            prefix = {"decoder_input_ids": torch.tensor([prompt])}
            wanted, _ = expected(model, source, {**options, **prefix})
            assert sequence == wanted[0]
            alone = artifact.generate(source, decoder_input_ids=prompt, **options)
            assert alone.sequences == [sequence]


def check_first_tokens(model: PreTrainedModel, artifact: ps.Model, *, exact: bool = True) -> None:
    start = model.generation_config.decoder_start_token_id
    padding = model.config.pad_token_id
    prompts = [
        [start, 9, 17, 12],
        [start, 9, padding, 17, padding, padding, 12],
        [start, padding, 9, 12, 17, padding],
    ]
    inputs = list(zip(sources(model)[2:], prompts, strict=False))
    end = model.generation_config.eos_token_id
    for beams in (1, 2):
        options = {"max_length": LONGEST, "num_beams": beams}
        found = artifact.generate(
            [source for source, _ in inputs], decoder_input_ids=prompts, **options
        )
        for (source, prompt), sequence in zip(inputs, found.sequences, strict=True):
            with torch.no_grad():
                wanted = model.generate(
                    torch.tensor([source]),
                    attention_mask=torch.ones(1, len(source), dtype=torch.int64),
                    decoder_input_ids=torch.tensor([prompt]),
                    **options,
                )
            expected = up_to_the_end(wanted[0].tolist(), [end])
            assert sequence == expected or not exact
            assert sequence[: len(prompt)] == prompt


def test_the_artifact_says_what_it_takes(
    exported: tuple[PreTrainedModel, ps.Model], tmp_path: Path
) -> None:
    _, artifact = exported
    assert artifact.constants["max_sequences"] == ROWS
    assert artifact.constants["max_source_length"] == LONGEST
    assert set(artifact.methods) == {"encode", "forward", "copy_pages"}
    with pytest.raises(ps.ContractError, match=f"{LONGEST}"):
        artifact.generate([5] * (LONGEST + 1))
