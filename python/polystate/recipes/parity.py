"""Whether the methods over paged caches compute what the model does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from polystate.errors import ExportError
from polystate.recipes.architectures.token_model import TokenModel, padding_token
from polystate.recipes.capacity import Capacity

# How far a position's logits may be from the model's, as a part of the largest: attention sums in
# another order.
_TOLERANCE = 1e-3
# The same for all logits of quantized methods, by their norm. Trained models are near 0.03, random
# ones of a few channels up to 0.2; what has nothing of the model left is beyond 1.
_QUANTIZED_TOLERANCE = 0.5
_LONGEST = 40
_TEXTS = 3
_LONGEST_CHUNK = 12


@dataclass(frozen=True)
class Example:
    """A target and its source, with the model's own logits [target, vocabulary].

    The source of a model without an encoder is empty.
    """

    source: torch.Tensor
    target: torch.Tensor
    logits: torch.Tensor


def examples(model: PreTrainedModel, capacity: Capacity) -> list[Example]:
    """Texts of random tokens and of different lengths, beyond a page where there is room.

    The longest target has padding inside, as a prompt may have.
    """
    generator = torch.Generator().manual_seed(0)
    found = []
    for number in range(_TEXTS):
        source = random_tokens(model, _length(number, capacity.source_length), generator)
        target = random_tokens(model, _length(_TEXTS - 1 - number, capacity.max_length), generator)
        if number == 0:
            target[1::8] = padding_token(model)
        with torch.no_grad():
            output = model(**model_inputs(source, target))
        found.append(Example(source, target, output.logits[0].float()))
    return found


def check_parity(methods: TokenModel, capacity: Capacity, texts: Sequence[Example]) -> None:
    """Compares the methods with the model, position by position.

    Raises
    ------
    ExportError
        When a step's logits are not the model's.
    """
    for text, logits in zip(texts, _decoded(methods, capacity, texts), strict=True):
        for position, (found, expected) in enumerate(zip(logits, text.logits, strict=True)):
            off = float((found - expected).abs().max())
            limit = _TOLERANCE * max(1.0, float(expected.abs().max()))
            if not off <= limit:
                raise ExportError(
                    f"the logits at position {position} are {off:.3g} off the model's, where "
                    f"{limit:.3g} is allowed"
                )


def check_positions(model: PreTrainedModel, methods: TokenModel, capacity: Capacity) -> None:
    """Compares logits of the first two tokens alone with those beside one at the last position.

    They see nothing of that one. Embeddings of positions that depend on how far a step goes give
    them others, as texts of a few tokens do not show.

    Raises
    ------
    ExportError
        When they differ.
    """
    generator = torch.Generator().manual_seed(0)
    tokens = random_tokens(model, 3, generator)
    source = random_tokens(model, min(3, capacity.source_length), generator)
    tables = methods.tables(1, capacity)
    for table in tables.values():  # page 0, and another one for the last position
        table[:] = 0
        table[:, -1] = min(1, table.shape[1] - 1)
    found = []
    with torch.no_grad():
        given = methods.read_sources([source], capacity)
        for positions in (torch.tensor([0, 1]), torch.tensor([0, 1, capacity.max_length - 1])):
            logits = methods(
                tokens[: len(positions)],
                positions,
                torch.zeros_like(positions),
                wanted=torch.tensor([1]),
                **tables,
                **given,
                **methods.counted([tokens[:position] for position in positions]),
            )
            found.append(logits)
    alone, beside = found
    off = float((alone - beside).abs().max())
    limit = _TOLERANCE * max(1.0, float(alone.abs().max()))
    if not off <= limit:
        raise ExportError(
            f"the logits at position 1 are {off:.3g} off beside a token at position "
            f"{capacity.max_length - 1}, where {limit:.3g} is allowed: the model computes a text "
            f"by how long it is"
        )


def check_quantized_parity(
    methods: TokenModel, capacity: Capacity, texts: Sequence[Example]
) -> None:
    """Compares methods that compute in 8 bits with the model, over all positions.

    Raises
    ------
    ExportError
        When what is left is another model.
    """
    found = torch.cat(_decoded(methods, capacity, texts))
    expected = torch.cat([text.logits for text in texts])
    off = float((found - expected).norm() / expected.norm())
    if not off <= _QUANTIZED_TOLERANCE:
        raise ExportError(
            f"the norm of what the logits are off is {off:.3g} of the model's own, where "
            f"{_QUANTIZED_TOLERANCE:.3g} is allowed"
        )


def _decoded(
    methods: TokenModel, capacity: Capacity, texts: Sequence[Example]
) -> list[torch.Tensor]:
    """The logits [target, vocabulary] of each text.

    As many sources as there is room for are encoded as one batch, and their targets read side by
    side, in chunks.
    """
    count = min(len(texts), capacity.max_sequences)
    return [
        logits
        for first in range(0, len(texts), count)
        for logits in _decoded_batch(methods, capacity, texts[first : first + count])
    ]


def _decoded_batch(
    methods: TokenModel, capacity: Capacity, texts: Sequence[Example]
) -> list[torch.Tensor]:
    tables = methods.tables(len(texts), capacity)
    logits = [torch.empty_like(text.logits) for text in texts]
    with torch.no_grad():
        sources = methods.read_sources([text.source for text in texts], capacity)
        for rows, positions in _steps([len(text.target) for text in texts]):
            places = list(zip(rows.tolist(), positions.tolist(), strict=True))
            found = methods(
                torch.stack([texts[row].target[position] for row, position in places]),
                positions,
                rows,
                wanted=torch.arange(len(rows)).flip(0),
                **tables,
                **sources,
                **methods.counted([texts[row].target[:position] for row, position in places]),
            )
            for (row, position), of_token in zip(places, found.flip(0), strict=True):
                logits[row][position] = of_token
    return logits


def _steps(lengths: Sequence[int]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Sequences and positions of the tokens of each step, in any order.

    In a step each sequence goes on by a chunk, of a token or several.
    """
    generator = torch.Generator().manual_seed(1)
    read = [0] * len(lengths)
    while read != list(lengths):
        places = []
        for row, length in enumerate(lengths):
            chunk = int(torch.randint(1, _LONGEST_CHUNK + 1, (), generator=generator))
            end = min(read[row] + chunk, length)
            places += [(row, position) for position in range(read[row], end)]
            read[row] = end
        rows, positions = torch.tensor(places).T
        order = torch.randperm(len(places), generator=generator)
        yield rows[order], positions[order]


def _length(number: int, most: int) -> int:
    """At least 1, unless there may be none."""
    return max(min(1, most), min(most, _LONGEST) * (number + 1) // _TEXTS)


def model_inputs(source: torch.Tensor, target: torch.Tensor) -> dict[str, torch.Tensor]:
    """What a model is called with: the target alone, where it has no encoder."""
    if len(source) == 0:
        return {"input_ids": target[None]}
    return {"input_ids": source[None], "decoder_input_ids": target[None]}


def random_tokens(model: PreTrainedModel, count: int, generator: torch.Generator) -> torch.Tensor:
    """Tokens [count] without the padding one, which would be padding."""
    config = model.config.get_text_config()
    tokens = torch.randint(0, config.vocab_size, (count,), generator=generator)
    if config.pad_token_id is None:
        return tokens
    return torch.where(tokens == config.pad_token_id, (tokens + 1) % config.vocab_size, tokens)
