"""Every logits processor gives what transformers' gives, alone and with others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GenerationConfig

from tests.python.sampler.process_scores import Answer, Case, expected, processed

Random = np.random.Generator
Config = dict[str, Any]


def tokens(random: Random, size: int, most: int) -> list[int]:
    return random.integers(0, size, random.integers(1, most + 1)).tolist()


def ends(random: Random, size: int) -> Config:
    """Return end tokens: one, or a list."""
    found = tokens(random, size, 3)
    return {"eos_token_id": found if random.random() < 0.5 else found[0]}


def sequences(random: Random, size: int) -> list[list[int]]:
    return [tokens(random, min(size, 6), 3) for _ in range(random.integers(1, 30))]


def biases(random: Random, size: int) -> Config:
    return {"sequence_bias": [[s, float(random.normal() * 3)] for s in sequences(random, size)]}


def bad_words(random: Random, size: int) -> Config:
    # One that no end token filters: transformers refuses a list of which nothing is left.
    words = [*sequences(random, size), [1, 2, 3, 4]]
    return {"bad_words_ids": words, **(ends(random, 6) if random.random() < 0.5 else {})}


def decay(random: Random, size: int) -> Config:
    penalty = [int(random.integers(0, 10)), float(random.uniform(0.8, 1.5))]
    return {"exponential_decay_length_penalty": penalty, **ends(random, size)}


def sampling(name: str, low: float, high: float) -> Callable[[Random, int], Config]:
    """Return what makes a configuration with one field of sampling, for beams in half of them."""

    def make(random: Random, size: int) -> Config:
        config = {"do_sample": True, "top_k": 0, name: float(random.uniform(low, high))}
        return config | ({"num_beams": 3, **ends(random, size)} if random.random() < 0.5 else {})

    return make


def top_k(random: Random, size: int) -> Config:
    return sampling("top_p", 1.0, 1.0)(random, size) | {"top_k": int(random.integers(1, 400))}


# What each field may be, given the vocabulary's size.
FIELDS: dict[str, Callable[[Random, int], Config]] = {
    "sequence_bias": biases,
    "encoder_repetition_penalty": lambda r, n: {
        "encoder_repetition_penalty": float(r.uniform(0.5, 2))
    },
    "repetition_penalty": lambda r, n: {"repetition_penalty": float(r.uniform(0.5, 2))},
    "no_repeat_ngram_size": lambda r, n: {"no_repeat_ngram_size": int(r.integers(1, 5))},
    "encoder_no_repeat_ngram_size": lambda r, n: {
        "encoder_no_repeat_ngram_size": int(r.integers(1, 5))
    },
    "bad_words_ids": bad_words,
    "min_length": lambda r, n: {"min_length": int(r.integers(0, 20)), **ends(r, n)},
    "min_new_tokens": lambda r, n: {"min_new_tokens": int(r.integers(0, 20)), **ends(r, n)},
    "forced_bos_token_id": lambda r, n: {"forced_bos_token_id": int(r.integers(0, n))},
    "forced_eos_token_id": lambda r, n: {"forced_eos_token_id": tokens(r, n, 2)},
    "remove_invalid_values": lambda r, n: {"remove_invalid_values": True},
    "exponential_decay_length_penalty": decay,
    "suppress_tokens": lambda r, n: {"suppress_tokens": tokens(r, n + 5, 9)},
    "begin_suppress_tokens": lambda r, n: {"begin_suppress_tokens": tokens(r, n + 5, 9)},
    "temperature": sampling("temperature", 0.1, 3.0),
    "top_k": top_k,
    "top_p": sampling("top_p", 0.0, 1.0),
    "min_p": sampling("min_p", 0.0, 1.0),
    "typical_p": sampling("typical_p", 0.01, 1.0),
    "epsilon_cutoff": sampling("epsilon_cutoff", 0.0, 0.2),
    "eta_cutoff": sampling("eta_cutoff", 0.0, 0.2),
    "renormalize_logits": lambda r, n: {"renormalize_logits": True},
}


def case(random: Random, config: Callable[[Random, int], Config], logarithms: bool) -> Case:
    """Return a random row. Few different tokens, so that sequences repeat themselves."""
    size = int(random.choice([8, 70, 1000]))
    scores = random.normal(size=size).astype(np.float32) * 4
    if logarithms:
        scores = torch.log_softmax(torch.tensor(scores), 0).numpy()
    row = tokens(random, min(size, int(random.integers(2, 7))), 24)
    return Case(
        config=config(random, size),
        scores=scores,
        tokens=row,
        prompt_length=int(random.integers(1, len(row) + 1)),
        source=tokens(random, 6, 20) if random.random() < 0.5 else [],
        max_length=len(row) + int(random.integers(1, 3)),
    )


def is_on_edge(one: Case, found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Return whether rounding put one improbable token on the other side of a limit."""
    differs = np.isneginf(found) != np.isneginf(wanted)
    probabilities = np.exp(one.scores - one.scores.max())
    return "do_sample" in one.config and differs.sum() == 1 and probabilities[differs].item() < 1e-3


# numpy's own assertions would put every case into words, which takes ten times as long as the rest.
def assert_equal(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], one: Case) -> None:
    assert np.array_equal(found, wanted), (one, found, wanted)


def assert_close(
    found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], off: float, one: Case
) -> None:
    assert np.allclose(found, wanted, rtol=off, atol=off, equal_nan=True), (one, found, wanted)


def assert_alike(cases: list[Case]) -> int:
    """Compare every case, of which one in hundreds may be on edge; return how many changed."""
    changed = 0
    on_edge = 0
    for one, answer in zip(cases, processed(cases), strict=True):
        assert not answer.error, (answer.error, one)
        assert not answer.warnings
        found = answer.scores
        wanted = expected(one)
        changed += not np.array_equal(wanted, one.scores)
        if is_on_edge(one, found, wanted):
            on_edge += 1
            continue
        assert_equal(np.isneginf(found), np.isneginf(wanted), one)
        assert_close(found, wanted, 1e-5, one)
    assert on_edge <= len(cases) / 200
    return changed


@pytest.mark.parametrize("logarithms", [False, True], ids=["logits", "log-probabilities"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_processor_alone_gives_what_transformers_gives(field: str, logarithms: bool) -> None:
    random = np.random.default_rng([logarithms, *field.encode()])
    cases = [case(random, FIELDS[field], logarithms) for _ in range(200)]
    if field == "remove_invalid_values":
        for one in cases:
            one.scores[random.integers(0, len(one.scores), 3)] = np.inf, -np.inf, np.nan
    assert assert_alike(cases) >= 5


def penalized(one: Case) -> np.ndarray[Any, Any]:
    """Return what OpenAI and vLLM define, whose penalties transformers does not have."""
    generated = torch.tensor(one.tokens[one.prompt_length :], dtype=torch.long)
    counts = torch.bincount(generated, minlength=len(one.scores)).float()
    scores = torch.tensor(one.scores)
    scores = scores - one.config.get("frequency_penalty", 0.0) * counts
    return (scores - one.config.get("presence_penalty", 0.0) * (counts > 0)).numpy()


@pytest.mark.parametrize("logarithms", [False, True], ids=["logits", "log-probabilities"])
@pytest.mark.parametrize(
    "names",
    [("frequency_penalty",), ("presence_penalty",), ("frequency_penalty", "presence_penalty")],
    ids=str,
)
def test_penalties_of_generated_tokens_are_those_of_openai(
    names: tuple[str, ...], logarithms: bool
) -> None:
    random = np.random.default_rng([logarithms, len(names), *names[0].encode()])
    cases = []
    for _ in range(200):
        config = {name: float(random.uniform(-2, 2)) for name in names}
        cases.append(case(random, lambda r, n, config=config: config, logarithms))
        cases[-1].text = json.dumps(config)
    changed = 0
    for one, answer in zip(cases, processed(cases), strict=True):
        assert not answer.error
        wanted = penalized(one)
        assert_close(answer.scores, wanted, 1e-6, one)
        changed += not np.array_equal(wanted, one.scores)
    assert changed > 100


def test_top_p_ends_where_the_probabilities_meet_it_exactly() -> None:
    rows = [(np.zeros(n, np.float32), [k / n for k in range(n + 1)]) for n in range(1, 40)]
    powers = np.log(np.array([1, 2, 8, 1, 4], np.float32) / 16)
    rows.append((powers, [0.5, 0.75, 0.875, 0.9375]))
    cases = [
        Case({"do_sample": True, "top_k": 0, "top_p": mass}, scores, [0], 1, [], 9)
        for scores, masses in rows
        for mass in masses
    ]
    # Which of equal ones stays is by chance.
    for one, answer in zip(cases, processed(cases), strict=True):
        assert_equal(np.sort(answer.scores), np.sort(expected(one)), one)


def combined(random: Random, size: int) -> Config:
    """Return several fields at once, those of sampling in half of the configurations."""
    names = random.choice(list(FIELDS), random.integers(2, 9), replace=False)
    config: Config = {}
    for name in names:
        config |= FIELDS[name](random, size)
    if random.random() < 0.5:
        config.pop("do_sample", None)
    if not is_possible(config):
        return combined(random, size)
    return config


def is_possible(config: Config) -> bool:
    """Return whether transformers takes the configuration, and no score or probability is twice.

    Forbidden tokens are made equal by remove_invalid_values, and those beside a token that a decay
    has raised far above all have the probability 0: which of them are kept is by chance.
    """
    forced = {"forced_bos_token_id", "forced_eos_token_id"} & config.keys()
    if forced and "remove_invalid_values" in config:
        return False
    if "exponential_decay_length_penalty" in config and "do_sample" in config:
        return False
    suppressed = set(config.get("suppress_tokens", []))
    start = {config["forced_bos_token_id"]} if "forced_bos_token_id" in config else {-1}
    end = set(config.get("forced_eos_token_id", [-1]))
    return not (start <= suppressed or end <= suppressed)


@pytest.mark.parametrize("logarithms", [False, True], ids=["logits", "log-probabilities"])
def test_processors_together_give_what_transformers_gives(logarithms: bool) -> None:
    random = np.random.default_rng([logarithms, 11])
    cases = [case(random, combined, logarithms) for _ in range(600)]
    possible = [one for one in cases if np.isfinite(expected(one)).any()]
    assert len(possible) > 500
    assert assert_alike(possible) > 400


def test_only_the_first_free_token_is_suppressed_at_the_beginning() -> None:
    scores = np.zeros(8, np.float32)
    for forced in ({}, {"forced_bos_token_id": 3}):
        config = {"begin_suppress_tokens": [1, 2], **forced}
        rows = [[0, 4, 5, 6][:length] for length in (1, 2, 3, 4)]
        cases = [
            Case(config, scores, row, p, [], 9) for row in rows for p in range(1, len(row) + 1)
        ]
        assert_alike(cases)


def answer_to(config: Config, text: str = "") -> Answer:
    return processed([Case(config, np.zeros(8, np.float32), [0], 1, [], 9, text)])[0]


def test_every_field_of_transformers_is_known() -> None:
    names = sorted(vars(GenerationConfig()))
    texts = [json.dumps({name: None}) for name in names]
    row = np.zeros(8, np.float32)
    answers = processed([Case({}, row, [0], 1, [], 9, text) for text in texts])
    told = {n: (a.error, a.warnings) for n, a in zip(names, answers, strict=True)}
    assert not {name: each for name, each in told.items() if any(each)}
    assert len(names) > 50


def test_a_field_of_another_name_is_warned_of() -> None:
    answer = answer_to({}, json.dumps({"no_such_field": None}))
    assert answer.warnings == ["'no_such_field': it is not a field that is known"]


@pytest.mark.parametrize(
    "config",
    [
        {"bad_words_ids": [[8]]},
        {"sequence_bias": [[[1, 8], 1.0]]},
        {"forced_bos_token_id": 8},
        {"forced_eos_token_id": [1, 8]},
        {"exponential_decay_length_penalty": [0, 1.5], "eos_token_id": 8},
    ],
    ids=str,
)
def test_a_token_that_transformers_refuses_is_refused(config: Config) -> None:
    assert "token 8" in answer_to(config).error
    rows = [[0], [0, 1]]
    with pytest.raises((ValueError, IndexError)):
        for row in rows:
            expected(Case(config, np.zeros(8, np.float32), row, 1, [], len(row) + 1))
