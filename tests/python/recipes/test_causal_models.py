"""Causal language models over pages compute what transformers does, to the last position."""

from __future__ import annotations

import itertools
from pathlib import Path

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
from tests.python.recipes.token_steps import in_chunks, logits_by_steps, side_by_side

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

STEPS = {
    "one by one": lambda: in_chunks(ROWS, LONGEST, 1),
    "chunks of 3": lambda: in_chunks(ROWS, LONGEST, 3),
    "chunks of 16": lambda: in_chunks(ROWS, LONGEST, 16),
    "at once": lambda: in_chunks(ROWS, LONGEST, LONGEST),
    "side by side": lambda: side_by_side(ROWS, LONGEST),
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
        found = logits_by_steps(model, tokens, steps(), table)
        off = np.abs(found - expected).max()
        assert off <= 1e-3 * np.abs(expected).max(), way
        best = np.sort(expected)[..., -2:]
        clear = best[..., 1] - best[..., 0] > 1e-4
        assert (found.argmax(-1) == expected.argmax(-1))[clear].all(), way


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_a_step_may_be_of_one_sequence_or_all_with_one_page_or_all(name: str, recipe: str) -> None:
    check_steps_of_all_sizes(causal_artifact(name, recipe), name)


# Of a model whose sizes PyTorch traces from 2 on: what is right at 1 is found by trying.
@pytest.mark.parametrize(("max_batch", "max_length"), [(1, 17), (2, 48), (3, 48), (5, 1)])
def test_so_may_a_step_of_an_artifact_of_any_size(max_batch: int, max_length: int) -> None:
    sizes = {"max_batch": max_batch, "max_length": max_length}
    check_steps_of_all_sizes(causal_artifact("gpt_oss", "portable", **sizes), "gpt_oss")


def check_steps_of_all_sizes(artifact: Path, name: str) -> None:
    """Reads the beginning of a sequence, as long as one page, beside others that have pages."""
    model = ps.load(artifact, trust_code=True)
    most, longest, size, pages = (
        model.constants[name] for name in ("max_sequences", "max_length", "page_size", "pages")
    )
    columns = -(-longest // size)
    table = np.arange(most * columns).reshape(most, columns) % pages
    tokens = np.random.default_rng(0).integers(3, VOCABULARY, min(size, longest))
    with torch.no_grad():
        expected = causal_model(name)(torch.from_numpy(tokens)[None]).logits[0].numpy()
    for rows, width, count in itertools.product((1, most), (1, columns), (1, len(tokens))):
        positions = np.arange(count)
        given = (tokens[:count], positions, np.zeros_like(positions), table[:rows, :width])
        found = np.asarray(model.session().run("forward", *given, positions[-1:])[0])
        off = np.abs(found[0] - expected[count - 1]).max()
        assert off <= 1e-3 * np.abs(expected).max(), (rows, width, count)
