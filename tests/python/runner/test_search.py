"""The searches against those of transformers, on models whose logits are hashes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GenerationConfig

from tests.python.runner import generate_lines
from tests.python.runner.hash_model import HashConfig, HashModel

CASES = 100  # of each kind, with three inputs each


def reference(request: dict[str, Any]) -> tuple[list[list[list[int]]], list[list[float]]]:
    """Return what transformers generates: ids and scores of each input, one input at a time."""
    model = HashModel(HashConfig(**request["model"]))
    config = GenerationConfig(**request["config"])
    ends = request["config"]["eos_token_id"] or []
    sequences, scores = [], []
    for each in request["inputs"]:
        options = {"decoder_input_ids": torch.tensor([each["prompt"]])} if "prompt" in each else {}
        generated = model.generate(
            torch.tensor([each["source"]]),
            generation_config=config,
            return_dict_in_generate=True,
            output_scores=True,
            use_cache=False,
            **options,
        )
        start = len(each.get("prompt", [0]))
        sequences.append([ended(row, start, ends) for row in generated.sequences.tolist()])
        scores.append(generated.get("sequences_scores", torch.zeros(0)).tolist())
    return sequences, scores


def ended(row: list[int], start: int, ends: list[int]) -> list[int]:
    """Return ``row`` through the first end token after its prompt."""
    found = [i for i in range(start, len(row)) if row[i] in ends]
    return row[: found[0] + 1] if found else row


def written(rows: list[list[int]], scores: list[float], config: dict[str, Any]) -> list[list[int]]:
    """Return rows without what transformers fills up those with that have not ended."""
    fill = {config["pad_token_id"], *(config["eos_token_id"] or [-1])[:1]}
    has_ended = [score > -1e8 for score in scores] or [True] * len(rows)
    return [
        row if ended else without_end(row, fill) for row, ended in zip(rows, has_ended, strict=True)
    ]


def without_end(row: list[int], fill: set[int]) -> list[int]:
    """Return a row without tokens of ``fill`` at its end; the first token stays."""
    last = max(i for i, token in enumerate(row) if i == 0 or token not in fill)
    return row[: last + 1]


def requests(kind: str) -> list[dict[str, Any]]:
    """Return random generations of a kind."""
    numbers = random.Random(kind)
    return [request(numbers, kind) for _ in range(CASES)]


def request(numbers: random.Random, kind: str) -> dict[str, Any]:
    vocabulary = numbers.choice([20, 40, 100] if kind == "processors" else [8, 40, 100])
    beams = 1 if kind == "greedy" else numbers.randint(2, 5)
    config: dict[str, Any] = {
        "num_beams": beams,
        "num_return_sequences": numbers.randint(1, beams),
        "early_stopping": numbers.choice([False, True, "never"]) if beams > 1 else False,
        "length_penalty": numbers.choice([-1.0, 0.0, 0.6, 1.0, 2.0]),
        "eos_token_id": numbers.choice([[1], [1, 2], [3, 1, 5], None]),
        "decoder_start_token_id": 0,
        "pad_token_id": numbers.choice([0, 6]),
        numbers.choice(["max_length", "max_new_tokens"]): numbers.randint(2, 20),
    }
    if kind == "fewer":
        config |= few_sequences(numbers, vocabulary)
    if kind == "processors":
        config |= {
            name: value
            for name, value in choices(numbers, config).items()
            if numbers.random() < 0.3
        }
    return {
        "model": {"vocab_size": vocabulary, "seed": numbers.getrandbits(64), "scale": 6.0},
        "config": config,
        "inputs": [one_input(numbers, vocabulary, config) for _ in range(3)],
    }


def few_sequences(numbers: random.Random, vocabulary: int) -> dict[str, Any]:
    """Return what leaves fewer sequences than there are beams."""
    left = numbers.sample(range(vocabulary), k=numbers.randint(1, 3))
    return numbers.choice(
        [
            {"forced_bos_token_id": left[0], "max_length": 2},
            {"forced_bos_token_id": left[0], "max_new_tokens": 1},
            {"forced_bos_token_id": left[0]},
            {"suppress_tokens": [token for token in range(vocabulary) if token not in left]},
        ]
    )


def choices(numbers: random.Random, config: dict[str, Any]) -> dict[str, Any]:
    """Return what changes scores, of which a request takes some."""
    given: dict[str, Any] = {
        "min_length": numbers.randint(2, 10),
        "no_repeat_ngram_size": numbers.randint(1, 3),
        "repetition_penalty": numbers.choice([0.7, 1.3, 2.5]),
        "encoder_repetition_penalty": numbers.choice([0.7, 1.3]),
        "encoder_no_repeat_ngram_size": numbers.randint(1, 3),
        "forced_bos_token_id": numbers.randint(13, 18),
        "bad_words_ids": [[7], [8, 9]],
        "suppress_tokens": [10, 11],
        "begin_suppress_tokens": [4, 12],
        "renormalize_logits": True,
    }
    if config["eos_token_id"]:
        given["forced_eos_token_id"] = config["eos_token_id"][0]
        given["min_new_tokens"] = numbers.randint(1, 10)
        given["exponential_decay_length_penalty"] = [numbers.randint(1, 8), 1.2]
    return given


def one_input(numbers: random.Random, vocabulary: int, config: dict[str, Any]) -> dict[str, Any]:
    drawn: dict[str, Any] = {"source": numbers.choices(range(vocabulary), k=numbers.randint(1, 12))}
    if numbers.random() < 0.2 and config.get("max_length", 20) > 3:
        drawn["prompt"] = [0, *numbers.choices(range(4, 8), k=numbers.randint(1, 2))]
    return drawn


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the request as generate_lines takes it."""
    model = request["model"]
    fake = {"vocabulary_size": model["vocab_size"], "seed": model["seed"], "scale": model["scale"]}
    return {"fake": fake, "config": request["config"], "inputs": request["inputs"]}


@pytest.mark.filterwarnings("ignore:Unfeasible length constraints")
@pytest.mark.parametrize("kind", ["greedy", "beams", "processors", "fewer"])
def test_sequences_and_scores_are_those_of_transformers(kind: str) -> None:
    every = requests(kind)
    for request, found in zip(every, generate_lines.run(map(answer, every)), strict=True):
        assert "error" not in found, (request, found)
        config = request["config"]
        beams = config["num_beams"]
        for i, (sequences, scores) in enumerate(zip(*reference(request), strict=True)):
            assert written(found["sequences"][i], scores, config) == written(
                sequences, scores, config
            ), request
            if beams > 1:
                assert found["scores"][i] == pytest.approx(scores, rel=1e-5, abs=1e-4), request


def scores_of_tokens(
    generated: Any, field: str, sequence: int, tokens: int, beams: int
) -> list[np.ndarray[Any, Any]]:
    """Return the rows that transformers chose the first tokens of a sequence by."""
    steps = getattr(generated, field)
    if beams == 1:
        return [steps[t][sequence].numpy() for t in range(tokens)]
    rows = generated.beam_indices[sequence]
    return [steps[t][rows[t]].numpy() for t in range(tokens)]


@pytest.mark.filterwarnings("ignore:Unfeasible length constraints")
@pytest.mark.parametrize("kind", ["greedy", "beams", "processors"])
def test_scores_and_logits_of_each_token_are_those_of_transformers(kind: str) -> None:
    every = requests(kind)[:30]
    for request in every:
        request["config"] |= {"output_scores": True, "output_logits": True}
        request["inputs"] = request["inputs"][:1]
    compared = 0
    for request, found in zip(every, generate_lines.run(map(answer, every)), strict=True):
        (given,) = request["inputs"]
        model = HashModel(HashConfig(**request["model"]))
        prompt = {"decoder_input_ids": torch.tensor([given["prompt"]])} if "prompt" in given else {}
        generated = model.generate(
            torch.tensor([given["source"]]),
            generation_config=GenerationConfig(**request["config"]),
            return_dict_in_generate=True,
            use_cache=False,
            **prompt,
        )
        start = len(given.get("prompt", [0]))
        vocabulary = request["model"]["vocab_size"]
        beams = request["config"]["num_beams"]
        for i, sequence in enumerate(found["sequences"][0]):
            if beams > 1 and found["scores"][0][i] < -1e8:
                continue  # stands where there is none
            for field, name in [("scores", "token_scores"), ("logits", "token_logits")]:
                flat = [-np.inf if value is None else value for value in found[name][i]]
                rows = np.array(flat, np.float32).reshape(-1, vocabulary)
                wanted = scores_of_tokens(generated, field, i, len(sequence) - start, beams)
                assert len(rows) == len(wanted), request
                np.testing.assert_allclose(rows, wanted, rtol=1e-5, atol=1e-4)
                compared += len(rows)
    assert compared > 200
