"""Runs the command lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.warm_process import run_module

_BIN = Path(sys.executable).parent
POLYSTATE = Path(os.environ.get("POLYSTATE_COMMAND", _BIN / "polystate"))
POLYSTATE_EXPORT = [sys.executable, "-m", "polystate.cli.export"]


def polystate(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return _run([str(POLYSTATE), *map(str, arguments)], **options)


def polystate_export(
    *arguments: object, cwd: Path | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command, in a warm process unless options ask for other streams or variables."""
    if not options:
        return run_module("polystate.cli.export", *arguments, cwd=cwd)
    options["cwd"] = cwd
    return _run([*POLYSTATE_EXPORT, *map(str, arguments)], **options)


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command, check=False, timeout=300, **(settings | options))
