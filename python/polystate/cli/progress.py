"""Tells people at a terminal what takes so long."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from polystate.steps import told


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    """Show ``title`` on stderr while the block runs, then how long it took; only on a terminal.

    The steps of an export have a line each.
    """
    if not sys.stderr.isatty():
        yield
        return
    lines = _Lines(title)
    outcome = "failed after"
    try:
        with told(lines.begin):
            yield
        outcome = "done in"
    finally:
        lines.end(outcome)


class _Lines:
    """The line of what runs, and those of its steps."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = self._step_started = time.monotonic()
        self._has_steps = False
        print(f"{title} ... ", end="", file=sys.stderr, flush=True)

    def begin(self, step: str) -> None:
        """Ends the line before, with its time, and begins that of a step."""
        end = f"{self._seconds(self._step_started)}" if self._has_steps else ""
        print(f"{end}\n  {step} ... ", end="", file=sys.stderr, flush=True)
        self._has_steps, self._step_started = True, time.monotonic()

    def end(self, outcome: str) -> None:
        """Says how long all took."""
        if self._has_steps:
            print(f"{self._seconds(self._step_started)}\n{self._title}: ", end="", file=sys.stderr)
        print(f"{outcome} {self._seconds(self._started)}", file=sys.stderr)

    @staticmethod
    def _seconds(since: float) -> str:
        return f"{time.monotonic() - since:.1f} s"
