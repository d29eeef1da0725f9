"""Runs the test program that generates in C++ from a model whose logits are hashes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def program() -> Path:
    """Return the program: POLYSTATE_GENERATE_LINES, or the developer build's."""
    built = ROOT / "build" / "dev" / "tests" / "cpp" / "runner" / "generate_lines"
    return Path(os.environ.get("POLYSTATE_GENERATE_LINES", built))


def run(requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer to each request; generate_lines.cc says what they have."""
    lines = "\n".join(json.dumps(request) for request in requests)
    done = subprocess.run([program()], input=lines, capture_output=True, check=True, text=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]
