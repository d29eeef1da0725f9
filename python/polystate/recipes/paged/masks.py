"""Which positions a model lets a token see, by transformers' own mask functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

from polystate.errors import UnsupportedError
from polystate.recipes.paged.attention import IMPLEMENTATION

# Queries that a mask is evaluated for, beside those around its window.
_QUERIES = 256

MaskFunction = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], Any]


class Masks:
    """The windows of the masks that a model made.

    Parameters
    ----------
    length
        Positions of the longest sequence.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._windows: list[tuple[torch.Tensor, int]] = []

    def window_of(self, mask: torch.Tensor | None) -> int | None:
        """The window of a mask, 0 where a token sees all before it; None: it is not known."""
        return next((window for known, window in self._windows if known is mask), None)

    def make(self, *_: Any, mask_function: MaskFunction, **__: Any) -> torch.Tensor:
        """What stands for a mask, in the place of transformers' own."""
        mask = torch.zeros(1, 1, 1, 1)
        self._windows.append((mask, window_of(mask_function, self._length)))
        return mask


@contextlib.contextmanager
def observed_masks(length: int) -> Iterator[Masks]:
    """Has models with our attention make masks of which it is known what they are, for a block."""
    masks = Masks(length)
    AttentionMaskInterface.register(IMPLEMENTATION, masks.make)
    try:
        yield masks
    finally:
        del ALL_MASK_ATTENTION_FUNCTIONS._global_mapping[IMPLEMENTATION]


def window_of(function: MaskFunction, length: int) -> int:
    """The window of a mask over sequences of a length; 0 where a token sees all before it.

    Parameters
    ----------
    function
        Transformers' function of the numbers of a sequence, a head, a query and a key.

    Raises
    ------
    UnsupportedError
        When it is something else, as far as evaluating it for some queries and all keys shows.
    """
    keys = torch.arange(length)[None]
    window = int(_seen(function, torch.tensor([[length - 1]]), keys).sum())
    queries = _queries(length, window)
    seen = _seen(function, queries, keys)
    expected = (keys <= queries) & (keys > queries - window)
    if not bool((seen == expected).all()):
        query = int((seen != expected).any(1).nonzero()[0])
        raise UnsupportedError(
            f"the model's mask is not causal, with or without a window: the token at position "
            f"{int(queries[query])} sees {int(seen[query].sum())} of {length} positions, and the "
            f"last one {window}"
        )
    return 0 if window == length else window


def _queries(length: int, window: int) -> torch.Tensor:
    """Positions [n, 1]: all, or the first and the last ones, those around windows, and others."""
    if length <= 2 * _QUERIES:
        return torch.arange(length)[:, None]
    generator = torch.Generator().manual_seed(0)
    chosen = {0, 1, length - 2, length - 1}
    chosen |= {window * times + by for times in (1, 2, 3) for by in (-1, 0, 1)}
    chosen |= set(torch.randint(0, length, (_QUERIES,), generator=generator).tolist())
    return torch.tensor(sorted(each for each in chosen if 0 <= each < length))[:, None]


def _seen(function: MaskFunction, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Bool [queries, keys]."""
    zero = torch.zeros((), dtype=torch.int64)
    seen = function(zero, zero, queries, keys)
    return torch.as_tensor(seen, dtype=torch.bool).expand(len(queries), keys.shape[1])
