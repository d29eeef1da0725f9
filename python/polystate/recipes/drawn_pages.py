"""Draws arguments of a token model's methods: every page belongs to one sequence or text."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from polystate.export.method import Draw
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.kinds import CacheKind

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def drawn_by_method(
    capacity: Capacity, padding: int, kinds: Sequence[CacheKind]
) -> dict[str, Draw]:
    """For each method, what makes valid arguments of drawn ones.

    Parameters
    ----------
    padding
        The token that texts are padded with.
    kinds
        Of the sequences' caches.
    """
    has_sources = capacity.max_source_length is not None

    def encode(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        ids, lengths, cross_table = args
        rows = _rows(ids.shape[0], (capacity.cross_pages, cross_table.shape[1]))
        longest = _least(ids.shape[1], cross_table, capacity)
        lengths = _whole(generator, lengths, 1, longest)[rows]
        is_padding = torch.arange(ids.shape[1])[None] >= lengths[:, None]
        table = _distinct(generator, cross_table, capacity.cross_pages)[rows]
        return (ids[rows].masked_fill(is_padding, padding), lengths, table), kwargs

    def forward(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        ids, _, _, page_table, *others = args
        source, (wanted, *others) = (others[:2], others[2:]) if has_sources else ([], others)
        window_tables, counted = (others, []) if len(kinds) > 1 else ([], others)
        columns = page_table.shape[1]
        tables = [
            _Table(like, kind.tried_pages(capacity), min(columns, kind.row_pages(capacity)))
            for like, kind in zip([page_table, *window_tables], kinds, strict=True)
        ]
        sequences = _rows(
            len(page_table),
            *((table.pages, table.of_row) for table in tables),
            *((capacity.cross_pages, table.shape[1]) for table in source[:1]),
        )
        longest = _least(capacity.max_length, page_table, capacity)
        span = min(longest, *(table.of_row * capacity.page_size for table in tables))
        rows, positions = _places(generator, len(ids), int(sequences.max()) + 1, longest, span)
        drawn = [table.drawn(generator)[sequences] for table in tables]
        return (
            ids,
            positions,
            rows,
            drawn[0],
            *(of_source[sequences] for of_source in drawn_source(generator, *source)),
            _whole(generator, wanted, 0, len(ids) - 1),
            *(positions.clone() for _ in counted),
            *drawn[1:],
        ), kwargs

    def drawn_source(generator: torch.Generator, *source: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if not source:
            return ()
        table, lengths = source
        longest = _least(capacity.source_length, table, capacity)
        drawn = _distinct(generator, table, capacity.cross_pages)
        return drawn, _whole(generator, lengths, 1, longest)

    def copy_pages(
        count: int, generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        source, target = args
        pages = torch.randperm(count, generator=generator)
        half = len(pages) // 2
        chosen = torch.arange(len(target)) % half  # where they do not suffice, some copy again
        return (pages[:half][chosen].to(source.dtype), pages[half:][chosen]), kwargs

    copies = {
        name: functools.partial(copy_pages, kind.tried_pages(capacity))
        for name, kind in zip(("copy_pages", "copy_window_pages"), kinds, strict=False)
    }
    return {"encode": encode, "forward": forward, **copies}


@dataclass(frozen=True)
class _Table:
    """A page table to be drawn.

    Attributes
    ----------
    like
        One of the same size.
    pages
        Of a pool.
    of_row
        Pages that a row has at a time, which its columns name in turn: as in a window, of which
        what lies further back was given to others.
    """

    like: torch.Tensor
    pages: int
    of_row: int

    def drawn(self, generator: torch.Generator) -> torch.Tensor:
        """One whose first rows have pages unlike one another, as many as there are."""
        rows, columns = self.like.shape
        places = torch.arange(rows)[:, None] * self.of_row + torch.arange(columns) % self.of_row
        return torch.randperm(self.pages, generator=generator)[places % self.pages]


def _places(
    generator: torch.Generator, tokens: int, sequences: int, length: int, span: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sequence and the position of each token: no place twice, unless there are too few.

    Parameters
    ----------
    length
        Of a sequence.
    span
        Positions of a sequence, beginning anywhere in it, which have places of their own.
    """
    places = torch.randperm(sequences * span, generator=generator)
    drawn = places[torch.arange(tokens) % len(places)]
    rows, positions = drawn // span, drawn % span
    if span < length:
        positions += torch.randint(length - span + 1, (sequences,), generator=generator)[rows]
    return rows, positions


def _least(length: int, table: torch.Tensor, capacity: Capacity) -> int:
    """How many positions fit into a length and the pages of a table's row."""
    return min(length, table.shape[1] * capacity.page_size)


def _whole(generator: torch.Generator, like: torch.Tensor, low: int, high: int) -> torch.Tensor:
    return low + torch.randint(high - low + 1, like.shape, generator=generator)


def _rows(count: int, *pools: tuple[int, int]) -> torch.Tensor:
    """Which row each one repeats, where pools have too few pages for all.

    Parameters
    ----------
    pools
        The pages of each pool, and those of a row.
    """
    most = min(count, *(pages // of_row for pages, of_row in pools))
    return torch.arange(count) % most


def _distinct(generator: torch.Generator, table: torch.Tensor, pages: int) -> torch.Tensor:
    """A table whose first rows have pages unlike one another, as many as there are."""
    drawn = torch.randperm(pages, generator=generator)
    return drawn[torch.arange(table.numel()) % pages].reshape(table.shape)
