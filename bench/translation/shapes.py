"""The shape of opus-mt-en-fr, the limits of its artifacts, and sources of random tokens for it."""

from __future__ import annotations

import random

VOCABULARY = 59_514
END = 0  # the token that ends a source
LONGEST = 64  # tokens of a source, and of a target with its start token
ROWS = 128  # of a step


def random_sources(count: int, tokens: int) -> list[list[int]]:
    """So many sources of so many tokens, the same ones in every process."""
    generator = random.Random(0)
    return [
        [*(generator.randrange(2, VOCABULARY - 1) for _ in range(tokens - 1)), END]
        for _ in range(count)
    ]
