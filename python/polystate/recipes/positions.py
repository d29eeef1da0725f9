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


@contextlib.contextmanager
def shortened_positions(model: PreTrainedModel, capacity: Capacity) -> Iterator[None]:
    """Lets tables of positions end with the last row that an artifact can read, for a block.

    Which those are is found by trying: embeddings with a row for each of the model's positions, but
    for those of tokens; and how much of them is read, by a source and a target of the greatest
    lengths. Afterwards the model is as it was.
    """
    tables = _position_tables(model)
    last_rows = _last_rows_read(model, capacity) if tables else {}
    shortened: dict[int, nn.Parameter] = {}
    originals: list[tuple[nn.Embedding, Any]] = []
    try:
        for table in tables:
            weight = table.weight
            last = last_rows.get(id(weight))
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


def _position_tables(model: PreTrainedModel) -> list[nn.Embedding]:
    config = model.config.get_text_config()
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return []
    of_tokens = {id(module.weight) for module in _token_modules(model)}
    return [
        module
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        and module.weight.shape[0] >= positions
        and id(module.weight) not in of_tokens
    ]


def _token_modules(model: PreTrainedModel) -> Iterator[Any]:
    found: Any = model
    yield found.get_output_embeddings()
    parts = [found.get_encoder(), found.get_decoder()] if found.config.is_encoder_decoder else []
    for part in (found, *parts):
        yield part.get_input_embeddings()


def _last_rows_read(model: PreTrainedModel, capacity: Capacity) -> dict[int, int]:
    """By a table's identity, the last row that the longest texts read."""
    found: dict[int, int] = {}
    embedding = torch.nn.functional.embedding

    def record(input: Tensor, weight: Tensor, *arguments: Any, **named: Any) -> Tensor:
        found[id(weight)] = max(found.get(id(weight), 0), int(input.max()))
        return embedding(input, weight, *arguments, **named)

    generator = torch.Generator().manual_seed(0)
    with torch.no_grad(), mock.patch.object(torch.nn.functional, "embedding", record):
        source = random_tokens(model, capacity.source_length, generator)
        model(**model_inputs(source, random_tokens(model, capacity.max_length, generator)))
    return found
