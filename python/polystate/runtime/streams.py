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


def pieces_of(options_for: OptionsFor, run: Run) -> Iterator[Any]:
    """Run a generation on a thread of its own, from the first piece that is asked for.

    It ends where the iterator is closed. What it raises, the iterator raises after its last piece.
    """
    pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
    options = options_for(_putting(pieces.put))
    return _pieces(pieces, options, run)


def _pieces(
    pieces: queue.SimpleQueue[Any], options: _core.GenerationOptions, run: Run
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
        options.cancel()
        thread.join()


async def pieces_of_async(options_for: OptionsFor, run: Run) -> AsyncIterator[Any]:
    """As :func:`pieces_of`, without blocking the event loop."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    options = options_for(
        _putting(lambda piece: loop.call_soon_threadsafe(pieces.put_nowait, piece))
    )
    task = asyncio.ensure_future(run_async(options, lambda: run(options)))
    task.add_done_callback(lambda _: pieces.put_nowait(_END))
    try:
        while (piece := await pieces.get()) is not _END:
            yield piece
        await task
    finally:
        options.cancel()
        with contextlib.suppress(Exception):
            await task


def _putting(put: Callable[[Any], object]) -> Callable[[int, Any], bool]:
    def hear(_: int, piece: Any) -> bool:
        put(piece)
        return True

    return hear
