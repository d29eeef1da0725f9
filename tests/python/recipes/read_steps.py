"""Reads the same tokens one by one and in steps of many, on several numbers of threads.

The number of threads is the whole process's, so that it runs by itself: its argument is an
artifact, and it prints how the logits of each token compare.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

import polystate as ps
from tests.python.recipes.tiny_models import LONGEST, ROWS, VOCABULARY

Place = tuple[int, int]  # the sequence and the position of a token

SEQUENCES = 5
PAGES = 2  # of a sequence, and of its source


class Texts:
    """Sources and targets that a session of an artifact reads, step by step."""

    def __init__(self, model: ps.Model, seed: int) -> None:
        random = np.random.default_rng(seed)
        self._inputs = [each.name for each in model.methods["forward"].inputs]
        self._session = model.session()
        self._tokens = random.integers(3, VOCABULARY, (SEQUENCES, LONGEST))
        self._tokens[:, 5::7] = model.constants["padding_id"]
        self._page_table = random.permutation(ROWS * PAGES)[: SEQUENCES * PAGES].reshape(-1, PAGES)
        self._cross_table = random.permutation(ROWS * PAGES)[: SEQUENCES * PAGES].reshape(-1, PAGES)
        self._lengths = random.integers(1, LONGEST + 1, SEQUENCES)
        sources = random.integers(3, VOCABULARY, (SEQUENCES, LONGEST))
        sources[np.arange(LONGEST) >= self._lengths[:, None]] = model.constants["padding_id"]
        self._session.run("encode", sources, self._lengths, self._cross_table)
        is_counted = self._tokens != model.constants["padding_id"]
        self._counted = np.cumsum(is_counted, axis=1) - is_counted

    def read(self, places: Sequence[Place]) -> dict[Place, bytes]:
        """The logits of each of a step's tokens."""
        rows, positions = np.array(places).T
        wanted = np.arange(len(places))[::-1].copy()
        given = {
            "input_ids": self._tokens[rows, positions],
            "positions": positions.copy(),
            "rows": rows.copy(),
            "page_table": self._page_table,
            "cross_table": self._cross_table,
            "cross_lengths": self._lengths,
            "wanted": wanted,
            "counted": self._counted[rows, positions],
        }
        (logits,) = self._session.run("forward", *(given[name] for name in self._inputs))
        return {places[w]: row.tobytes() for w, row in zip(wanted, np.asarray(logits), strict=True)}


def one_by_one() -> Iterator[list[Place]]:
    for row in range(SEQUENCES):
        for position in range(LONGEST):
            yield [(row, position)]


def chunks(seed: int) -> Iterator[list[Place]]:
    """Of any sequences, of any lengths, their tokens in any order."""
    random = np.random.default_rng(seed)
    read = np.zeros(SEQUENCES, dtype=int)
    while (read < LONGEST).any():
        left = ROWS
        places: list[Place] = []
        for row in random.permutation(SEQUENCES)[: random.integers(1, SEQUENCES + 1)].tolist():
            count = min(int(random.integers(1, 9)), left, LONGEST - int(read[row]))
            places += [(row, int(read[row]) + i) for i in range(count)]
            read[row] += count
            left -= count
        if places:
            yield [places[i] for i in random.permutation(len(places))]


def read(path: str, threads: int, steps: Iterable[list[Place]]) -> dict[Place, bytes]:
    texts = Texts(ps.load(path, trust_code=True, threads=threads), seed=1)
    found: dict[Place, bytes] = {}
    for step in steps:
        found |= texts.read(step)
    return found


def main() -> None:
    """Compare, bit for bit."""
    path = sys.argv[1]
    alone = read(path, 1, one_by_one())
    print(len(set(alone.values())) == SEQUENCES * LONGEST, "different tokens")
    for threads in (1, 2, 8):
        print(read(path, threads, chunks(seed=threads)) == alone, f"{threads} threads")


if __name__ == "__main__":
    main()
