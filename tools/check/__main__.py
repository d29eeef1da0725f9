"""Check a change: formats, types, and the tests that it can reach, in about two minutes.

    python -m tools.check [--seconds N]
    python -m tools.check --begin; make what runs all tests; python -m tools.check --remember

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

from tools.check import cpp_tests, python_tests, static_checks
from tools.check.memory import Memory
from tools.ingredients import ROOT

_BEGUN = ROOT / "build/check_begun.json"


def main() -> int:
    """Check what has changed; the exit status is 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="make check", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, help="for the tests in Python (default: 25 or 100)")
    parser.add_argument("--begin", action="store_true", help="note what all tests will run with")
    parser.add_argument(
        "--remember", action="store_true", help="that all passed that is as it was at --begin"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    begin = time.monotonic()
    memory = Memory.open(ROOT / "build/check.json")
    if options.begin:
        _as_it_is().save()
        return 0
    if options.remember:
        memory.note_unchanged(Memory.open(_BEGUN), _as_it_is())
        _BEGUN.unlink(missing_ok=True)
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


def _as_it_is() -> Memory:
    """Return what all tests would pass with now."""
    memory = Memory(_BEGUN)
    cpp_tests.remember(memory)
    python_tests.remember(memory)
    return memory


if __name__ == "__main__":
    sys.exit(main())
