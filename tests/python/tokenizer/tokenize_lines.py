"""Runs the test program that encodes and decodes lines in C++."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def program() -> Path:
    """Return the program: POLYSTATE_TOKENIZE_LINES, or the developer build's."""
    built = ROOT / "build" / "dev" / "tests" / "cpp" / "tokenizer" / "tokenize_lines"
    return Path(os.environ.get("POLYSTATE_TOKENIZE_LINES", built))


def run(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers; the first one tells of the tokenizer, or why it was not opened."""
    lines = "\n".join(json.dumps(request) for request in requests)
    done = subprocess.run(
        [program(), path, *options], input=lines, capture_output=True, check=True, text=True
    )
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def opened(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers, of a tokenizer that opens."""
    first, *answers = run(path, requests, *options)
    assert "error" not in first, first
    return answers
