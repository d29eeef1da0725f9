"""Pieces of a generation as iterators, while it runs on another thread."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from polystate import _core
from polystate.runtime.generation import run_async

# Makes the options of a generation, with what is to be called with the number of an input and each
# piece of it, and answers whether there shall be more.
OptionsFor = Callable[[Callable[[int, Any], bool]], _core.GenerationOptions]

# Runs a generation by its options.
Run = Callable[[_core.GenerationOptions], object]

_END = object()


class _Hearer:
    """What a generation tells its pieces to.

    Parameters
    ----------
    put
        Where they go.
    keeps_begun
        Whether a generation of which a piece was heard ends with what it has where nobody listens
        any more; else it is cancelled.
    """

    def __init__(self, put: Callable[[Any], object], keeps_begun: bool) -> None:
        self._put = put
        self._keeps_begun = keeps_begun
        self._has_begun = False
        self._is_closed = False

    def __call__(self, _: int, piece: Any) -> bool:
        self._has_begun = True
        self._put(piece)
        return not self._is_closed

    def close(self, options: _core.GenerationOptions) -> None:
        """Have the generation end."""
        self._is_closed = True
        if not (self._keeps_begun and self._has_begun):
            options.cancel()


def pieces_of(options_for: OptionsFor, run: Run, keeps_begun: bool = False) -> Iterator[Any]:
    """Run a generation on a thread of its own, from the first piece that is asked for.

    It ends where the iterator is closed. What it raises, the iterator raises after its last piece.
    """
    pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
    hearer = _Hearer(pieces.put, keeps_begun)
    return _pieces(pieces, hearer, options_for(hearer), run)


def _pieces(
    pieces: queue.SimpleQueue[Any], hearer: _Hearer, options: _core.GenerationOptions, run: Run
) -> Iterator[Any]:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            run(options)
        except BaseException as error:
            raised.append(error)
        pieces.put(_END)

    thread = threading.Thread(target=work, name="polystate-stream", daemon=True)
    thread.start()
    try:
        while (piece := pieces.get()) is not _END:
            yield piece
        if raised:
            raise raised[0]
    finally:
        hearer.close(options)
        thread.join()


async def pieces_of_async(
    options_for: OptionsFor, run: Run, keeps_begun: bool = False
) -> AsyncIterator[Any]:
    """As :func:`pieces_of`, without blocking the event loop."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    hearer = _Hearer(lambda piece: loop.call_soon_threadsafe(pieces.put_nowait, piece), keeps_begun)
    options = options_for(hearer)
    task = asyncio.ensure_future(run_async(options, lambda: run(options)))
    task.add_done_callback(lambda _: pieces.put_nowait(_END))
    try:
        while (piece := await pieces.get()) is not _END:
            yield piece
        await task
    finally:
        hearer.close(options)
        with contextlib.suppress(Exception):
            await task
