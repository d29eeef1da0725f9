"""Draws arguments of a token model's methods: every page belongs to one sequence or text."""

from __future__ import annotations

from typing import Any

import torch

from polystate.export.method import Draw
from polystate.recipes.capacity import Capacity

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def drawn_by_method(capacity: Capacity, padding: int) -> dict[str, Draw]:
    """For each method, what makes valid arguments of drawn ones.

    Parameters
    ----------
    padding
        The token that texts are padded with.
    """
    has_sources = capacity.max_source_length is not None

    def encode(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        ids, lengths, cross_table = args
        rows = _rows(ids.shape[0], (cross_table, capacity.cross_pages))
        longest = _least(ids.shape[1], cross_table, capacity)
        lengths = _whole(generator, lengths, 1, longest)[rows]
        is_padding = torch.arange(ids.shape[1])[None] >= lengths[:, None]
        table = _distinct(generator, cross_table, capacity.cross_pages)[rows]
        return (ids[rows].masked_fill(is_padding, padding), lengths, table), kwargs

    def forward(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        ids, _, _, page_table, *others = args
        source, (wanted, *counted) = (others[:2], others[2:]) if has_sources else ([], others)
        tables = [(page_table, capacity.tried_pages)]
        tables += [(table, capacity.cross_pages) for table in source[:1]]
        sequences = _rows(len(page_table), *tables)
        longest = _least(capacity.max_length, page_table, capacity)
        rows, positions = _places(generator, len(ids), int(sequences.max()) + 1, longest)
        return (
            ids,
            positions,
            rows,
            _distinct(generator, page_table, capacity.tried_pages)[sequences],
            *(of_source[sequences] for of_source in drawn_source(generator, *source)),
            _whole(generator, wanted, 0, len(ids) - 1),
            *(positions.clone() for _ in counted),
        ), kwargs

    def drawn_source(generator: torch.Generator, *source: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if not source:
            return ()
        table, lengths = source
        longest = _least(capacity.source_length, table, capacity)
        drawn = _distinct(generator, table, capacity.cross_pages)
        return drawn, _whole(generator, lengths, 1, longest)

    def copy_pages(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        source, target = args
        pages = torch.randperm(capacity.tried_pages, generator=generator)
        half = len(pages) // 2
        chosen = torch.arange(len(target)) % half  # where they do not suffice, some copy again
        return (pages[:half][chosen].to(source.dtype), pages[half:][chosen]), kwargs

    return {"encode": encode, "forward": forward, "copy_pages": copy_pages}


def _places(
    generator: torch.Generator, tokens: int, sequences: int, length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sequence and the position of each token: no place twice, unless there are too few."""
    places = torch.randperm(sequences * length, generator=generator)
    drawn = places[torch.arange(tokens) % len(places)]
    return drawn // length, drawn % length


def _least(length: int, table: torch.Tensor, capacity: Capacity) -> int:
    """How many positions fit into a length and the pages of a table's row."""
    return min(length, table.shape[1] * capacity.page_size)


def _whole(generator: torch.Generator, like: torch.Tensor, low: int, high: int) -> torch.Tensor:
    return low + torch.randint(high - low + 1, like.shape, generator=generator)


def _rows(count: int, *tables: tuple[torch.Tensor, int]) -> torch.Tensor:
    """Which row each one repeats, where pools have too few pages for all rows of their tables."""
    most = min(count, *(pages // table.shape[1] for table, pages in tables))
    return torch.arange(count) % most


def _distinct(generator: torch.Generator, table: torch.Tensor, pages: int) -> torch.Tensor:
    """A table whose first rows have pages unlike one another, as many as there are."""
    drawn = torch.randperm(pages, generator=generator)
    return drawn[torch.arange(table.numel()) % pages].reshape(table.shape)
