"""What the generation benchmarks run: prompts of random tokens, each continued by so many more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The fewest tokens of a vocabulary here: prompts are of tokens that every model has.
VOCABULARY = 4000
LONGEST = 1024  # tokens of a prompt with what follows
NEW_TOKENS = 64  # that follow a prompt
POSITIONS = {"chat": 512}  # of models that have fewer than LONGEST


@dataclass(frozen=True)
class Workload:
    """Prompts of `prompt` tokens; each is another one, since engines remember what they read."""

    prompt: int
    passes: int

    @property
    def name(self) -> str:
        return f"prompt_{self.prompt}"

    def content(self, threads: int) -> dict[str, Any]:
        """What every engine reads; the first prompt warms up."""
        generator = random.Random(self.prompt)
        return {
            "threads": threads,
            "new_tokens": NEW_TOKENS,
            "prompts": [
                [generator.randrange(3, VOCABULARY) for _ in range(self.prompt)]
                for _ in range(self.passes + 1)
            ],
        }


def workloads(model: str) -> Iterator[Workload]:
    """The workloads of the model of that name, whose positions they fit."""
    yield Workload(prompt=128, passes=3)
    yield Workload(prompt=min(512, POSITIONS.get(model, LONGEST) - NEW_TOKENS), passes=2)
