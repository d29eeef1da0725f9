"""Steps that read whole sequences in chunks of some length, or side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

import polystate as ps

Place = tuple[int, int]  # the sequence and the position of a token


def in_chunks(rows: int, longest: int, length: int) -> Iterator[list[Place]]:
    """One sequence after another."""
    for row in range(rows):
        for first in range(0, longest, length):
            yield [(row, position) for position in range(first, min(first + length, longest))]


def side_by_side(rows: int, longest: int) -> Iterator[list[Place]]:
    """Chunks of all sequences, of any lengths, their tokens in any order."""
    random = np.random.default_rng(0)
    read = [0] * rows
    while min(read) < longest:
        places: list[Place] = []
        for row in range(rows):
            end = min(read[row] + int(random.integers(0, 17)), longest)
            places += [(row, position) for position in range(read[row], end)]
            read[row] = end
        if places:
            yield [places[i] for i in random.permutation(len(places))]


def logits_by_steps(
    model: ps.Model,
    tokens: np.ndarray,
    steps: Iterable[list[Place]],
    page_table: np.ndarray,
    others: Sequence[np.ndarray] = (),
) -> np.ndarray:
    """Logits [rows, positions, vocabulary] of all tokens [rows, positions]; NaN where not read.

    Parameters
    ----------
    others
        The tables of other kinds of layers.
    """
    session, at_once = model.session(), len(tokens)  # a step gives logits of so many tokens
    found: np.ndarray | None = None
    for step in steps:
        rows, positions = np.array(step).T.copy()
        for first in range(0, len(step), at_once):
            wanted = np.arange(len(step))[first : first + at_once]
            given = (tokens[rows, positions], positions, rows, page_table, wanted)
            logits = np.asarray(session.run("forward", *given, *others)[0])
            if found is None:
                found = np.full((*tokens.shape, logits.shape[-1]), np.nan, logits.dtype)
            found[rows[wanted], positions[wanted]] = logits
    assert found is not None
    return found
