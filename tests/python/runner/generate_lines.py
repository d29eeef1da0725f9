"""Runs the test program that generates in C++ from a model whose logits are hashes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from typing import Any

from tests.support.executables import executable


def run(requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer to each request; generate_lines.cc says what they have."""
    lines = "\n".join(json.dumps(request) for request in requests)
    done = subprocess.run(
        [executable("tests/cpp/runner/generate_lines")],
        input=lines,
        capture_output=True,
        check=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]
