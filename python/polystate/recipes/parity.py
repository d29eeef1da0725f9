"""Whether the methods over paged caches compute what the model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from polystate.errors import ExportError
from polystate.recipes.encoder_decoder import Capacity, EncoderDecoder

# How far logits may be from the model's, as a part of the largest: attention sums in another order.
_TOLERANCE = 1e-3
_LONGEST = 40
_TEXTS = 3


@dataclass(frozen=True)
class Example:
    """A source and a target, with the model's own logits [target, vocabulary]."""

    source: torch.Tensor
    target: torch.Tensor
    logits: torch.Tensor


def examples(model: PreTrainedModel, capacity: Capacity) -> list[Example]:
    """Texts of random tokens and of different lengths, beyond a page where there is room."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for number in range(_TEXTS):
        source = _tokens(model, _length(number, capacity.max_source_length), generator)
        target = _tokens(model, _length(_TEXTS - 1 - number, capacity.max_length), generator)
        with torch.no_grad():
            output = model(input_ids=source[None], decoder_input_ids=target[None])
        found.append(Example(source, target, output.logits[0].float()))
    return found


def check_parity(methods: EncoderDecoder, capacity: Capacity, texts: Sequence[Example]) -> None:
    """Encodes the sources as one batch, and decodes all targets side by side, step by step.

    Raises
    ------
    ExportError
        When a step's logits are not the model's.
    """
    count = min(len(texts), capacity.max_batch)
    for first in range(0, len(texts), count):
        _check(methods, capacity, texts[first : first + count])


def _check(methods: EncoderDecoder, capacity: Capacity, texts: Sequence[Example]) -> None:
    count = len(texts)
    lengths = torch.tensor([len(text.source) for text in texts])
    sources = torch.nn.utils.rnn.pad_sequence(
        [text.source for text in texts],
        batch_first=True,
        padding_value=methods.padding,
    )
    cross_table = torch.arange(count * capacity.source_pages).view(count, -1)
    table = torch.arange(count * capacity.target_pages).view(count, -1)
    with torch.no_grad():
        methods.encode(sources, lengths, cross_table)
        for position in range(max(len(text.target) for text in texts)):
            rows = [i for i, text in enumerate(texts) if position < len(text.target)]
            logits = methods.decode(
                torch.stack([texts[i].target[position] for i in rows])[:, None],
                torch.full((len(rows),), position),
                table[rows],
                cross_table[rows],
                lengths[rows],
            )
            for i, found in zip(rows, logits, strict=True):
                _compare(found, texts[i].logits[position], position)


def _compare(found: torch.Tensor, expected: torch.Tensor, position: int) -> None:
    off = float((found - expected).abs().max())
    limit = _TOLERANCE * max(1.0, float(expected.abs().max()))
    if not off <= limit:
        raise ExportError(
            f"the logits at position {position} are {off:.3g} off the model's, where {limit:.3g} "
            f"is allowed"
        )


def _length(number: int, most: int) -> int:
    return max(1, min(most, _LONGEST) * (number + 1) // _TEXTS)


def _tokens(model: PreTrainedModel, count: int, generator: torch.Generator) -> torch.Tensor:
    """Random tokens without the padding one, which would be padding."""
    config = model.config.get_text_config()
    tokens = torch.randint(0, config.vocab_size, (count,), generator=generator)
    other = (tokens + 1) % config.vocab_size
    return torch.where(tokens == config.pad_token_id, other, tokens)
