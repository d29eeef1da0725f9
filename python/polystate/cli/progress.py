"""Tells people at a terminal what takes so long."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    """Show ``title`` on stderr while the block runs, then how long it took; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    started = time.monotonic()
    print(f"{title} ... ", end="", file=sys.stderr, flush=True)
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    finally:
        print(f"{outcome} {time.monotonic() - started:.1f} s", file=sys.stderr)
