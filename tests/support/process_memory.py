"""The memory of a process and of all that it starts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 0.1


def peak_memory(command: Sequence[str | Path]) -> tuple[int, int]:
    """Runs a command; returns its exit status, and the most bytes that were resident at one time.

    Those of its children are included, and what several share counts once.
    """
    peak = 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident, _family(process.pid))))
            time.sleep(_SECONDS)
    return process.returncode, peak


def _family(process: int) -> list[int]:
    """A process and its descendants."""
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, _text(children).split())
    return found


def _resident(process: int) -> int:
    """A process's own resident bytes, and its part of those that it shares."""
    lines = _text(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _text(path: Path) -> str:
    """Of a file in /proc; nothing where the process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
