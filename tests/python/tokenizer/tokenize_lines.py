"""Runs the test program that encodes and decodes lines in C++."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.executables import executable


def run(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers; the first one tells of the tokenizer, or why it was not opened."""
    lines = "\n".join(json.dumps(request) for request in requests)
    done = subprocess.run(
        [executable("tests/cpp/tokenizer/tokenize_lines"), path, *options],
        input=lines,
        capture_output=True,
        check=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def opened(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers, of a tokenizer that opens."""
    first, *answers = run(path, requests, *options)
    assert "error" not in first, first
    return answers
