"""Leaves out of a model's tables of positions what an artifact's lengths do not reach."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from polystate.recipes.capacity import Capacity
from polystate.recipes.parity import model_inputs, random_tokens

# Tokens of the texts by which tables of tokens are told from tables of positions.
_FEW = 8


@contextlib.contextmanager
def shortened_positions(model: PreTrainedModel, capacity: Capacity) -> Iterator[None]:
    """Lets tables of positions end with the last row that an artifact can read, for a block.

    Which those are is found by trying: embeddings with a row for each of the model's positions,
    whose rows are chosen by where tokens stand, whatever these are; and how much of them is read,
    by a source and a target of the greatest lengths. Afterwards the model is as it was.
    """
    tables = _position_tables(model, capacity)
    lengths = capacity.source_length, capacity.max_length
    rows_read = _rows_read(model, *lengths, torch.Generator().manual_seed(0)) if tables else {}
    shortened: dict[int, nn.Parameter] = {}
    originals: list[tuple[nn.Embedding, Any]] = []
    try:
        for table in tables:
            weight = table.weight
            last = max(rows_read.get(id(weight), []), default=None)
            if last is None or (table.padding_idx is not None and table.padding_idx > last):
                continue
            originals.append((table, weight))
            if id(weight) not in shortened:
                rows = weight.detach()[: last + 1].clone()
                shortened[id(weight)] = nn.Parameter(rows, requires_grad=False)
            table.weight = shortened[id(weight)]
        yield
    finally:
        for table, weight in originals:
            table.weight = weight


def _position_tables(model: PreTrainedModel, capacity: Capacity) -> list[nn.Embedding]:
    config = model.config.get_text_config()
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return []
    of_tokens = {id(module.weight) for module in _token_modules(model)}
    others = [
        module
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        and module.weight.shape[0] >= positions
        and id(module.weight) not in of_tokens
    ]
    # transformers names a model's first table of tokens alone, and some models have more.
    of_tokens = _tables_of_tokens(model, capacity) if others else set()
    return [module for module in others if id(module.weight) not in of_tokens]


def _token_modules(model: PreTrainedModel) -> Iterator[Any]:
    """What transformers names as a model's embeddings of tokens."""
    found: Any = model
    parts = [found.get_encoder(), found.get_decoder()] if found.config.is_encoder_decoder else []
    named = [part.get_input_embeddings() for part in (found, *parts)]
    return (module for module in (found.get_output_embeddings(), *named) if module is not None)


def _tables_of_tokens(model: PreTrainedModel, capacity: Capacity) -> set[int]:
    """The identities of tables of which two texts of equally many tokens read other rows."""
    generator = torch.Generator().manual_seed(0)
    lengths = min(_FEW, capacity.source_length), min(_FEW, capacity.max_length)
    one, other = (_rows_read(model, *lengths, generator) for _ in range(2))
    return {table for table in one.keys() | other.keys() if one.get(table) != other.get(table)}


def _rows_read(
    model: PreTrainedModel, source_length: int, length: int, generator: torch.Generator
) -> dict[int, list[int]]:
    """By a table's identity, the rows that a random source and target read, in their order."""
    found: dict[int, list[int]] = {}
    embedding = torch.nn.functional.embedding

    def record(input: Tensor, weight: Tensor, *arguments: Any, **named: Any) -> Tensor:
        found.setdefault(id(weight), []).extend(input.flatten().tolist())
        return embedding(input, weight, *arguments, **named)

    with torch.no_grad(), mock.patch.object(torch.nn.functional, "embedding", record):
        source = random_tokens(model, source_length, generator)
        model(**model_inputs(source, random_tokens(model, length, generator)))
    return found
