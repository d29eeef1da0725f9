"""What an export is doing, for those who wait for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def told(listener: Callable[[str], None]) -> Iterator[None]:
    """Calls `listener` at the beginning of each step within the block, with what it is."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def begin(step: str) -> None:
    """Says that a step begins, and that the one before has ended."""
    listener = _listener.get()
    if listener is not None:
        listener(step)
