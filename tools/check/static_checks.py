"""Formats, style and types: each check again when a file that it reads has changed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.check.memory import Memory
from tools.ingredients import ROOT

_CONFIGURATION = ("pyproject.toml", ".clang-format", ".gersemirc", "tools/requirements.txt")


@dataclass(frozen=True)
class _Check:
    """A command that takes the files of some kinds, or finds them itself."""

    command: tuple[str, ...]
    suffixes: tuple[str, ...]
    takes_files: bool = False


_CHECKS = {
    "clang-format": _Check(("clang-format", "--dry-run", "-Werror"), (".h", ".cc"), True),
    "ruff": _Check(("ruff", "check", "--quiet"), (".py",)),
    "ruff format": _Check(("ruff", "format", "--check", "--quiet"), (".py",)),
    "mypy": _Check(("mypy", "--no-error-summary"), (".py", ".pyi")),
    "import-linter": _Check(("lint-imports",), (".py",)),
    "gersemi": _Check(("gersemi", "--check"), (".cmake", "CMakeLists.txt"), True),
    "codespell": _Check(("codespell",), ("",)),
}


def run(memory: Memory) -> bool:
    """Run the checks whose files changed; tell whether all of them pass."""
    passed = True
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    own = [ROOT / name for name in names.stdout.splitlines()]
    configuration = [ROOT / name for name in _CONFIGURATION]
    for name, check in _CHECKS.items():
        files = [path for path in own if path.name.endswith(check.suffixes) and path.is_file()]
        changes = memory.changes(name, [*files, *configuration])
        if not changes:
            continue
        print(f"check: {name} ({reason(changes)})", flush=True)
        if _succeeds(check, files):
            memory.note(name, [*files, *configuration])
        else:
            memory.forget(name)
            passed = False
    return passed


def _succeeds(check: _Check, files: list[Path]) -> bool:
    command = [*check.command, *(map(str, files) if check.takes_files else ())]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr)
    return done.returncode == 0


def reason(changes: list[str]) -> str:
    """Say why something is checked, by the files that changed."""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{changes[0]}{more} changed"
