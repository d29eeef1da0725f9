"""The C++ tests: programs of the build with sanitizers, each run when it is another than before.

A library is linked from the objects that are needed alone, so that a program is another one just
where a change can reach it.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import time
from pathlib import Path

from tools.check.memory import Memory
from tools.ingredients import ROOT

_BUILD = ROOT / "build/asan"
_FIXTURES = ROOT / "build/fixtures/.complete"


def changed(memory: Memory) -> list[Path]:
    """The test programs that are others than when they passed, or have other files to open."""
    programs = _programs()
    known = [path for path in programs if path.name in memory.files]
    found = [path for path in known if memory.changes(path.name, _files(path))]
    return found + [path for path in programs if path not in known and _may_be_another(memory)]


def _may_be_another(memory: Memory) -> bool:
    """Tell of a program that never ran here whether a source is not as it was committed."""
    folders = ("include", "src", "cli", "cmake", "tests/cpp", "tests/fixtures")
    return bool(memory.changes("", (file for f in folders for file in (ROOT / f).rglob("*"))))


def all_files() -> dict[str, frozenset[Path]]:
    """What each program's tests depend on."""
    return {path.name: frozenset(_files(path)) for path in _programs()}


def run(programs: list[Path], memory: Memory, jobs: int) -> bool:
    """Run programs, each divided among `jobs` processes; tell whether all of them pass."""
    passed = True
    for path in programs:
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            shards = list(pool.map(lambda shard: _run(path, shard, jobs), range(jobs)))  # noqa: B023
        failed = [shard.stdout + shard.stderr for shard in shards if shard.returncode != 0]
        print(f"check: {path.name} (it or what it opens is another): ", end="")
        print(f"{'FAILED' if failed else 'passed'} in {time.monotonic() - begin:.0f} s", flush=True)
        print("\n".join(failed), end="")
        if failed:
            memory.forget(path.name)
            passed = False
        else:
            memory.note(path.name, _files(path))
    return passed


def _programs() -> list[Path]:
    return sorted(path for path in _BUILD.glob("tests/cpp/*/*_test") if path.is_file())


def _files(program: Path) -> list[Path]:
    """What decides about a program's tests: itself, the artifacts, and its folder's data."""
    data = ROOT / "tests/cpp" / program.parent.name / "data"
    return [program, _FIXTURES, *(path for path in data.rglob("*") if path.is_file())]


def _run(program: Path, shard: int, shards: int) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "GTEST_SHARD_INDEX": str(shard),
        "GTEST_TOTAL_SHARDS": str(shards),
    }
    command = [str(program), "--gtest_brief=1"]
    return subprocess.run(
        command, cwd=_BUILD, env=environment, capture_output=True, text=True, errors="replace"
    )
