"""Keeps unpacked weights between calls of the references, for the length of an export.

Unpacking takes longer than a product with a few rows, and an export calls each product many times.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from torch import Tensor

# Larger models are unpacked at each call, so that they fit into memory.
_LIMIT = 1 << 29  # bytes


class _Kept:
    """Weights by the address of their tiles, which are kept alive and so remain at that address."""

    def __init__(self) -> None:
        self._weights: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
        self._bytes = 0

    def get(self, tiles: Tensor, columns: int, unpack: Callable[[], Tensor]) -> Tensor:
        key = tiles.data_ptr(), columns
        if key in self._weights:
            return self._weights[key][1]
        weight = unpack()
        if self._bytes + weight.nbytes <= _LIMIT:
            self._bytes += weight.nbytes
            self._weights[key] = tiles, weight
        return weight


_kept: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keeps what is unpacked within the block, where no tiles may be changed."""
    token = _kept.set(_kept.get() or _Kept())
    try:
        yield
    finally:
        _kept.reset(token)


def unpacked(tiles: Tensor, columns: int, unpack: Callable[[], Tensor]) -> Tensor:
    """The weights [columns, depth] of tiles, as ``unpack`` gives them."""
    kept = _kept.get()
    return unpack() if kept is None else kept.get(tiles, columns, unpack)
