"""What is given to a generation, and what comes of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polystate.errors import ContractError

# A logits processor of the user's own: takes a row's tokens and its scores [vocabulary], and
# returns new scores, or None where it changed those in place.
LogitsProcessor = Callable[[list[int], "np.ndarray[Any, Any]"], Any]

# A sampler of the user's own: takes a row's scores [vocabulary], and returns the next token.
Sampler = Callable[["np.ndarray[Any, Any]"], int]


@dataclass(frozen=True)
class GenerateOutput:
    """What ``Model.generate`` gives.

    Attributes
    ----------
    sequences
        The ids of each sequence, from the decoder's start token or prompt through the first end
        token, without padding; ``num_return_sequences`` for each input, best first.
    sequences_scores
        Of a beam search: the score of each, the sum of its log-probabilities divided by a power of
        its length; else None.
    """

    sequences: list[list[int]]
    sequences_scores: list[float] | None


def settings_of(names: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields of transformers' GenerationConfig as the runtime takes them: names with JSON."""
    settings = []
    for name, value in names.items():
        try:
            settings.append((name, json.dumps(value, default=_plain)))
        except (TypeError, ValueError) as error:
            raise ContractError(f"{name} is {value!r}, which is no plain value: {error}") from error
    return settings


def _plain(value: Any) -> Any:
    """A NumPy or torch value as numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


def ids_of(
    name: str, given: Any, attention_mask: Any = None, padding: int | None = None
) -> list[list[int]]:
    """Lists of ids, from a list of ids, a list of lists, or an array of one or two dimensions.

    Padding is taken away: where the mask is 0, or without one, and only of arrays, the padding
    tokens at the end.
    """
    is_array = hasattr(given, "tolist")
    rows = given.tolist() if is_array else given
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise ContractError(f"{name} is a {type(given).__name__}; ids or lists of ids are needed")
    if not rows or not isinstance(rows[0], Sequence):
        rows = [rows]
    rows = [list(row) for row in rows]
    if attention_mask is not None:
        masks = ids_of("attention_mask", attention_mask)
        if [len(mask) for mask in masks] != [len(row) for row in rows]:
            raise ContractError(f"attention_mask has another shape than {name}")
        rows = [
            [token for token, seen in zip(row, mask, strict=True) if seen]
            for row, mask in zip(rows, masks, strict=True)
        ]
    elif is_array and padding is not None:
        rows = [_without_end(row, padding) for row in rows]
    for row in rows:
        for token in row:
            if not hasattr(token, "__index__") or not 0 <= token < 2**32:
                raise ContractError(f"{name} has {token!r}, which is no id of a token")
    return rows


def _without_end(row: list[int], padding: int) -> list[int]:
    end = len(row)
    while end > 1 and row[end - 1] == padding:
        end -= 1
    return row[:end]


def processor_calls(processors: Sequence[LogitsProcessor]) -> list[Callable[..., None]]:
    """The user's processors as the runtime calls them."""
    return [_processor_call(processor) for processor in processors]


def _processor_call(processor: LogitsProcessor) -> Callable[..., None]:
    def call(tokens: list[int], _prompt: int, _source: list[int], buffer: memoryview) -> None:
        scores = np.frombuffer(buffer, np.float32)
        changed = processor(tokens, scores)
        if changed is not None and changed is not scores:
            scores[:] = np.asarray(changed, np.float32).reshape(scores.shape)

    return call


def sampler_call(sampler: Sampler | None) -> Callable[..., int] | None:
    """The user's sampler as the runtime calls it."""
    if sampler is None:
        return None

    def call(buffer: memoryview, _seed: int, _sequence: int, _step: int) -> int:
        return int(sampler(np.frombuffer(buffer, np.float32)))

    return call


def warn(sentences: Sequence[str]) -> None:
    """Tells what an artifact asks for and gets no effect."""
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=4)
