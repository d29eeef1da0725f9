"""Layers that see a window keep its pages alone, and compute what transformers does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps
from tests.python.recipes.causal_models import VOCABULARY, WINDOW, causal_model
from tests.python.recipes.token_steps import in_chunks, logits_by_steps, side_by_side
from tests.support.exported_models import kept

LONGEST = 300
ROWS = 4
PAGE = 16
# Of a sequence: those of all positions, and those that a window and a step of 64 tokens are in.
PAGES, WINDOW_PAGES = 19, 6

IN_EVERY_RUN = [("gemma3", "xnnpack"), ("mistral", "xnnpack"), ("gpt_oss", "xnnpack")]
OTHERS = [
    ("gemma3", "aoti"),
    ("mistral", "aoti"),
    ("gemma2", "xnnpack"),
    ("gemma3n", "xnnpack"),
    ("qwen2-window", "xnnpack"),
    ("cohere2", "xnnpack"),
]
CASES = [*IN_EVERY_RUN, *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in OTHERS)]


def artifact(name: str, recipe: str) -> Path:
    return kept(_export, name, recipe, backend=recipe) / "artifact"


def _export(out: Path, name: str, recipe: str) -> None:
    ps.export_pretrained(
        long_model(name), out / "artifact", recipe=recipe, max_length=LONGEST, max_batch=ROWS
    )


@cache
def long_model(name: str) -> torch.nn.Module:
    return causal_model(name, max_position_embeddings=LONGEST)


def logits_of(name: str, tokens: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        logits = long_model(name)(torch.from_numpy(tokens)).logits
    return np.asarray(logits)


STEPS = {
    "one by one": lambda: in_chunks(ROWS, LONGEST, 1),
    "chunks of 64": lambda: in_chunks(ROWS, LONGEST, 64),
    "side by side": lambda: side_by_side(ROWS, LONGEST),
}


def tables(model: ps.Model) -> list[np.ndarray]:
    """Of each kind of layers. In a window, pages come in turn: those before it are other ones'."""
    random = np.random.default_rng(1)
    found = []
    for name in ("pages", "window_pages"):
        if name in model.constants:
            of_row = model.constants[name] // ROWS
            pages = random.permutation(model.constants[name]).reshape(ROWS, of_row)
            found.append(pages[:, np.arange(PAGES) % of_row].copy())
    return found


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_logits_far_past_the_window_are_those_of_transformers(name: str, recipe: str) -> None:
    random = np.random.default_rng(sum(name.encode()))
    tokens = random.integers(3, VOCABULARY, (ROWS, LONGEST))
    expected = logits_of(name, tokens)
    model = ps.load(artifact(name, recipe), trust_code=True)
    page_table, *window_table = tables(model)
    for way, steps in STEPS.items():
        found = logits_by_steps(model, tokens, steps(), page_table, window_table)
        off = np.abs(found - expected).max()
        assert off <= 1e-3 * np.abs(expected).max(), way


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_the_state_has_the_pages_of_a_window_alone(name: str, recipe: str) -> None:
    model = ps.load(artifact(name, recipe), trust_code=True)
    assert model.constants["window"] == WINDOW
    pages = [ROWS * (WINDOW_PAGES if window else PAGES) for window in windows(name)]
    found = [state.shape[0] for state in model.state.values()]
    assert sorted(found) == sorted([*pages, *pages])  # of keys, and of values
    assert min(found) < ROWS * PAGES // 3


def windows(name: str) -> list[int]:
    """Of each layer that has keys of its own; 0: it sees all."""
    config = long_model(name).config.get_text_config()  # type: ignore[operator, union-attr]
    count = config.num_hidden_layers - getattr(config, "num_kv_shared_layers", 0)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * count
    return [WINDOW if kind == "sliding_attention" else 0 for kind in kinds[:count]]


def generated(name: str, prompt: Sequence[int], **options: Any) -> list[list[int]]:
    """What transformers generates, without a token that ends it."""
    ids = torch.tensor([list(prompt)])
    found = long_model(name).generate(  # type: ignore[operator]
        ids, attention_mask=torch.ones_like(ids), do_sample=False, eos_token_id=None, **options
    )
    return [list(row) for row in found.tolist()]


def random_prompt(seed: int, length: int) -> list[int]:
    return list(np.random.default_rng(seed).integers(3, VOCABULARY, length).tolist())


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_texts_that_begin_alike_or_go_back_are_those_of_transformers(
    name: str, recipe: str
) -> None:
    model = ps.load(artifact(name, recipe), trust_code=True)

    def generate(prompt: list[int], count: int, **options: object) -> ps.GenerateOutput:
        found = model.generate(
            input_ids=[prompt], max_new_tokens=count, eos_token_id=[], keep=True, **options
        )
        assert found.sequences == generated(name, prompt, max_new_tokens=count)
        return found

    prompt = random_prompt(0, 150)
    first = generate(prompt, 40)
    assert first.usage[0].cached_tokens == 0
    again = generate(prompt, 40)
    assert again.usage[0].cached_tokens == 144  # whole pages, less a token
    # Another prompt that begins with it goes on from where both part.
    other = generate(prompt[:100] + random_prompt(1, 30), 20)
    assert other.usage[0].cached_tokens == 96

    whole = first.sequences[0]
    # It has read 189 tokens, and holds those of the last page or two.
    on = generate([*whole, *random_prompt(2, 10)], 30, kept=first.kept)
    assert on.usage[0].cached_tokens == 189
    # Further back there are the pages of the prompt alone: what comes after is read again.
    back = generate([*whole[:165], 7, 8, 9], 30, kept=first.kept)
    assert back.usage[0].cached_tokens == 144
    assert back.usage[0].prompt_tokens == 168


def test_beams_are_those_of_transformers() -> None:
    model = ps.load(artifact("gemma3", "xnnpack"))
    prompt = random_prompt(5, 120)
    options = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 60}
    found = model.generate(input_ids=[prompt], eos_token_id=[], **options)
    assert found.sequences == generated("gemma3", prompt, **options)
