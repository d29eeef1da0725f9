"""Check a change: formats, types, and the tests that it can reach, in about two minutes.

    python -m tools.check [--seconds N]
    git ls-files >FILES; run all tests; python -m tools.check --remember FILES

What passed is remembered, in the build folder, by the digests of all files that it depends on, so
that only what has changed since is checked again; of what never ran here, what was committed last
counts as passed. Where the tests that a change can reach take longer than there is time, the
nearest ones run, and it is said which are left to `make test`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tools.check import cpp_tests, python_tests, static_checks
from tools.check.memory import Memory
from tools.ingredients import ROOT


def main() -> int:
    """Check what has changed; the exit status is 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="make check", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, help="for the tests in Python (default: 25 or 100)")
    parser.add_argument(
        "--remember",
        metavar="FILES",
        type=Path,
        help="that all tests passed, which began when this list of all files was written",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    begin = time.monotonic()
    memory = Memory.open(ROOT / "build/check.json")
    if options.remember:
        all_files = cpp_tests.all_files() | python_tests.all_files()
        memory.note_unchanged(all_files, options.remember)
        python_tests.read_seconds(memory)
        memory.save()
        return 0
    passed = static_checks.run(memory)
    changed_programs = cpp_tests.changed(memory)
    passed = cpp_tests.run(changed_programs, memory, options.jobs) and passed
    if passed:
        seconds = options.seconds or (25 if changed_programs else 100)
        selection = python_tests.select(memory, seconds * options.jobs)
        passed = python_tests.run(selection, memory, options.jobs)
    else:
        print("check: the tests in Python wait until the others pass")
    memory.save()
    verdict = "passed" if passed else "FAILED"
    print(f"check: {verdict} in {time.monotonic() - begin:.0f} s")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
