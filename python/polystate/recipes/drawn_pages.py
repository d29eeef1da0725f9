"""Draws arguments of an encoder-decoder's methods: every page belongs to one row."""

from __future__ import annotations

from typing import Any

import torch

from polystate.export.method import Draw
from polystate.recipes.encoder_decoder import Capacity

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def drawn_by_method(capacity: Capacity, padding: int) -> dict[str, Draw]:
    """For each method, what makes valid arguments of drawn ones.

    Parameters
    ----------
    padding
        The token that texts are padded with.
    """

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

    def decode(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        ids, positions, page_table, cross_table, cross_lengths, *counted = args
        tables = (page_table, capacity.pages), (cross_table, capacity.cross_pages)
        rows = _rows(ids.shape[0], *tables)
        last = _least(capacity.max_length, page_table, capacity) - 1
        longest = _least(capacity.max_source_length, cross_table, capacity)
        positions = _whole(generator, positions, 0, last)
        drawn = (
            ids,
            positions,
            *(_distinct(generator, *table) for table in tables),
            _whole(generator, cross_lengths, 1, longest),
            *(positions for _ in counted),
        )
        return tuple(each[rows] for each in drawn), kwargs

    def copy_pages(
        generator: torch.Generator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Arguments:
        source, target = args
        pages = torch.randperm(capacity.pages, generator=generator)
        half = capacity.pages // 2
        chosen = torch.arange(len(target)) % half  # where they do not suffice, some copy again
        return (pages[:half][chosen].to(source.dtype), pages[half:][chosen]), kwargs

    return {"encode": encode, "decode": decode, "copy_pages": copy_pages}


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
