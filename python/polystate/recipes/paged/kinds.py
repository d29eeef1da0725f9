"""Layers that see all before a token, and layers that see a window, whose caches are smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from polystate.recipes.capacity import Capacity

# The page tables of an artifact, of its first kind of layers and of its second (docs/artifact.md).
TABLES = ("page_table", "window_table")


@dataclass(frozen=True)
class CacheKind:
    """Layers whose pools have as many pages, which one page table has for each sequence.

    Attributes
    ----------
    window
        How many of the last positions a token sees at most, its own included; 0: all.
    layers
        Their numbers among the pools.
    """

    window: int
    layers: tuple[int, ...]

    def row_pages(self, capacity: Capacity) -> int:
        """Pages that a sequence has at a time.

        In a window these are the pages of the positions before a chunk that its first token sees,
        and of the chunk, which begin anywhere in the first page.
        """
        if self.window == 0:
            return capacity.pages_of_sequence
        chunk = min(capacity.max_step_tokens, capacity.max_length)
        return math.ceil((self.window + chunk - 2) / capacity.page_size) + 1

    def pages(self, capacity: Capacity) -> int:
        """Pages of a layer's pools.

        In a window there is room for two sequences at least: one goes on from another that is kept.
        """
        if self.window == 0:
            return capacity.pages
        return max(2, capacity.max_sequences) * self.row_pages(capacity)

    def tried_pages(self, capacity: Capacity) -> int:
        """The same while it is shown what an artifact does, which takes a few sequences."""
        if self.window == 0:
            return capacity.tried_pages
        sequences = min(capacity.tried_sequences, max(2, capacity.max_sequences))
        return sequences * self.row_pages(capacity)


def cache_kinds(windows: Sequence[int], capacity: Capacity) -> list[CacheKind]:
    """One kind of layers, or those that see all, and then those that see a window.

    Parameters
    ----------
    windows
        Of each layer with pools: how many of the last positions its tokens see; 0: all. Where
        windows differ, all layers have the pages of the largest.
    """
    every = CacheKind(0, tuple(range(len(windows))))
    if not any(windows):
        return [every]
    windowed = CacheKind(max(windows), tuple(i for i in every.layers if windows[i]))
    if windowed.pages(capacity) >= every.pages(capacity):
        return [every]
    others = tuple(i for i in every.layers if not windows[i])
    return [CacheKind(0, others), windowed] if others else [windowed]
