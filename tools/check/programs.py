"""The programs that tests in Python run: built when a test is selected that needs them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tools import ingredients
from tools.ingredients import ROOT


def build(files: Iterable[Path], jobs: int) -> bool:
    """Build in build/dev what files of tests run or install; where that fails, print why."""
    targets = sorted({target for file in files for target in needed(file)})
    if not targets:
        return True
    commands = (
        ["cmake", "--preset", "dev", "--log-level=ERROR"],
        ["cmake", "--build", "--preset", "dev", "--parallel", str(jobs), "--target", *targets],
    )
    for command in commands:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode != 0:
            print(f"check: {' '.join(command[:4])} FAILED\n{done.stdout}", flush=True)
            return False
    return True


def needed(file: Path) -> list[str]:
    """Return the targets whose programs a file of tests runs, by the helpers that it imports."""
    helpers = {path.name for path in ingredients.sources(file) if "tests" in path.parts}
    targets: list[str] = []
    if "executables.py" in helpers:
        targets.append("test_programs")
        if "examples.py" in helpers:
            targets += [f"example_{path.parent.name}" for path in ROOT.glob("examples/*/main.cc")]
    if "build_project(" in file.read_text():
        targets.append("polystate_installed")
    return targets
