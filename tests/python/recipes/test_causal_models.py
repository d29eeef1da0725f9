"""Causal language models over pages compute what transformers does, to the last position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import polystate as ps
from tests.python.recipes.causal_models import (
    LONGEST,
    NAMES,
    ROWS,
    VOCABULARY,
    causal_artifact,
    causal_model,
)

IN_EVERY_RUN = [
    ("llama-llama3", "xnnpack"),
    ("gemma3", "xnnpack"),  # windows in some layers, norms of queries and keys
    ("gpt2", "xnnpack"),  # a table of positions, Conv1D
    ("gpt_oss", "xnnpack"),  # sinks, experts, windows
    ("deepseek_v3", "xnnpack"),  # keys and values of other sizes, experts in groups
    ("phi3-longrope", "portable"),
    ("mistral", "aoti"),
    ("qwen3_moe", "aoti"),
]
OTHERS = [
    (name, recipe)
    for name in NAMES
    for recipe in ("xnnpack", "aoti")
    if (name, recipe) not in IN_EVERY_RUN
]
CASES = [*IN_EVERY_RUN, *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in OTHERS)]

Place = tuple[int, int]  # the sequence and the position of a token


def in_chunks(length: int) -> Iterator[list[Place]]:
    """One sequence after another."""
    for row in range(ROWS):
        for first in range(0, LONGEST, length):
            yield [(row, position) for position in range(first, min(first + length, LONGEST))]


def side_by_side() -> Iterator[list[Place]]:
    """Chunks of all sequences, of any lengths, their tokens in any order."""
    random = np.random.default_rng(0)
    read = [0] * ROWS
    while min(read) < LONGEST:
        places: list[Place] = []
        for row in range(ROWS):
            end = min(read[row] + int(random.integers(0, 17)), LONGEST)
            places += [(row, position) for position in range(read[row], end)]
            read[row] = end
        if places:
            yield [places[i] for i in random.permutation(len(places))]


STEPS = {
    "one by one": lambda: in_chunks(1),
    "chunks of 3": lambda: in_chunks(3),
    "chunks of 16": lambda: in_chunks(16),
    "at once": lambda: in_chunks(LONGEST),
    "side by side": side_by_side,
}


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_logits_are_those_of_transformers(name: str, recipe: str) -> None:
    random = np.random.default_rng(sum(name.encode()))
    tokens = random.integers(3, VOCABULARY, (ROWS, LONGEST))
    model = ps.load(causal_artifact(name, recipe), trust_code=True)
    with torch.no_grad():
        expected = causal_model(name)(torch.from_numpy(tokens)).logits.numpy()
    pages = model.constants["pages"] // ROWS
    table = random.permutation(ROWS * pages).reshape(ROWS, pages)
    for way, steps in STEPS.items():
        session, found = model.session(), np.full_like(expected, np.nan)
        for step in steps():
            rows, positions = np.array(step).T.copy()
            for first in range(0, len(step), ROWS):  # a step gives logits of so many tokens
                wanted = np.arange(len(step))[first : first + ROWS]
                given = (tokens[rows, positions], positions, rows, table, wanted)
                (logits,) = session.run("forward", *given)
                found[rows[wanted], positions[wanted]] = np.asarray(logits)
        off = np.abs(found - expected).max()
        assert off <= 1e-3 * np.abs(expected).max(), way
        best = np.sort(expected)[..., -2:]
        clear = best[..., 1] - best[..., 0] > 1e-4
        assert (found.argmax(-1) == expected.argmax(-1))[clear].all(), way
