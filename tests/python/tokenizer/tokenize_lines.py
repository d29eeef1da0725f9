"""Runs the test program that encodes and decodes lines in C++."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from tests.support.executables import executable


def run(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers; the first one tells of the tokenizer, or why it was not opened."""
    lines = b"\n".join(map(orjson.dumps, requests))
    done = subprocess.run(
        [executable("tests/cpp/tokenizer/tokenize_lines"), path, *options],
        input=lines,
        capture_output=True,
        check=True,
    )
    return [orjson.loads(line) for line in done.stdout.split(b"\n")[:-1]]


def opened(path: Path, requests: Iterable[dict[str, Any]], *options: str) -> list[Any]:
    """Return the answers, of a tokenizer that opens."""
    first, *answers = run(path, requests, *options)
    assert "error" not in first, first
    return answers
