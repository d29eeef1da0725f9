"""Texts of a grammar, token by token: drawn ones, and those that are given."""

from __future__ import annotations

import random

import numpy as np

import polystate as ps

# A byte-level vocabulary has every byte as a token: what ends JSON soonest.
_CLOSING = '"}],:0123456789.truefalsn'


def walk(
    tokenizer: ps.Tokenizer, state: ps.GrammarState, draw: random.Random, steps: int, end: int
) -> list[int]:
    """So many allowed tokens at random, then those that end the text soonest, without its end."""
    closing = [token for c in _CLOSING if (token := tokenizer.token_to_id(c)) is not None]
    chosen: list[int] = []
    for step in range(steps + 500):
        allowed = np.flatnonzero(state.allowed())
        if end in allowed and (step >= steps or len(allowed) == 1):
            return chosen
        candidates = [token for token in allowed.tolist() if token != end]
        preferred = [token for token in closing if token in candidates]
        if step >= steps and preferred and draw.random() < 0.9:
            token = preferred[0] if draw.random() < 0.7 else draw.choice(preferred)
        else:
            token = draw.choice(candidates)
        state.advance(token)
        chosen.append(token)
    raise AssertionError(f"no end is found: {tokenizer.decode(chosen)!r}")


def tokens_of(tokenizer: ps.Tokenizer, text: str) -> list[int]:
    ids: list[int] = list(tokenizer.encode(text, add_special_tokens=False))
    return ids


def accepts(tokenizer: ps.Tokenizer, grammar: ps.Grammar, text: str, end: int) -> bool:
    """Whether a text may be generated, and end."""
    state = grammar.start()
    for token in tokens_of(tokenizer, text):
        if not state.allowed()[token]:
            return False
        state.advance(token)
    return bool(state.allowed()[end])
