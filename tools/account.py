#!/usr/bin/env python3
"""Where the time of a test run went: notes each step, and makes a table of them.

`account.py step NAME COMMAND...` runs a command and notes how long it took, where the variable
POLYSTATE_ACCOUNT names a file. `account.py table BUILD` prints the steps of that file, the slowest
tests of the reports that ctest and pytest left in a build folder, what was exported, and what the
caches had.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_SLOWEST = 20  # tests
_LONGEST = 10  # exports
_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.M)


def main() -> int:
    """Do what the arguments say; the exit status is the command's."""
    action, *arguments = sys.argv[1:]
    if action == "step":
        return step(arguments[0], arguments[1:])
    print("\n".join(table(Path(arguments[0]))))
    return 0


def step(name: str, command: list[str]) -> int:
    """Run a command, and note its seconds: of the clock, and of processors."""
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    note("step", time.monotonic() - begin, used.ru_utime + used.ru_stime, name)
    return status


def note(*words: object) -> None:
    """Write a line of the account, if one is kept."""
    account = os.environ.get("POLYSTATE_ACCOUNT")
    if account:
        texts = (f"{word:.1f}" if isinstance(word, float) else str(word) for word in words)
        with Path(account).open("a") as file:
            file.write("\t".join(texts) + "\n")


def table(build: Path) -> Iterator[str]:
    """The lines of the table."""
    account = Path(os.environ["POLYSTATE_ACCOUNT"])
    notes = [line.split("\t") for line in account.read_text().splitlines()]
    yield f"Where the time went, on {_processor()}"
    yield "seconds  processor  step"
    total = 0.0
    for _, seconds, used, name in (words for words in notes if words[0] == "step"):
        total += float(seconds)
        yield f"{seconds:>7}  {used:>9}  {name}"
    yield f"{total:7.1f}             in all"
    yield ""
    yield f"The {_SLOWEST} slowest tests, in seconds"
    tests = sorted(_tests(build), reverse=True)
    yield from (f"{seconds:7.1f}  {name}" for seconds, name in tests[:_SLOWEST])
    yield f"{sum(seconds for seconds, _ in tests):7.1f}  all {len(tests)} tests"
    yield f"Suites of C++ count as one test each; {_in_suites(build)} tests passed in them"
    yield ""
    exports = [words[1:] for words in notes if words[0] == "export"]
    made = [(float(seconds), test) for how, seconds, test in exports if how == "made"]
    total = sum(seconds for seconds, _ in made)
    yield f"Exports that tests only run: {len(made)} made in {total:.0f} s, the longest for"
    longest = sorted(made, reverse=True)[:_LONGEST]
    yield from (f"{seconds:7.1f}  {test}" for seconds, test in longest)
    kept = ", ".join(_kept(notes, content) for content in ("export", "object"))
    yield f"Caches: {kept}; {_ccache()}"


def _kept(notes: list[list[str]], content: str) -> str:
    """How many of what tests make were kept; objects are those of AOTInductor's methods."""
    found = Counter(words[1] for words in notes if words[0] == content)
    return f"{found['kept']} of {found.total()} {content}s were kept"


def _processor() -> str:
    """The processor's name, and how many there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    values = {key.strip(): value.strip() for key, value in fields.items()}
    names = (values.get(key, "?") for key in ("model name", "cpu family", "model"))
    return "{} (family {}, model {}), {} of them".format(*names, os.cpu_count())


def _tests(build: Path) -> Iterator[tuple[float, str]]:
    """The seconds and the name of each test in the reports of a build folder."""
    for report in sorted(build.glob("*tests.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            group = case.get("classname", "")
            name = case.get("name", "")
            label = name if group in ("", name) else f"{group}.{name}"
            yield float(case.get("time", 0)), f"{report.stem}: {label}"


def _in_suites(build: Path) -> int:
    """How many of googletest's tests have passed, by what its suites printed last."""
    printed = (
        case.findtext("system-out") or ""
        for report in build.glob("*tests.xml")
        for case in ElementTree.parse(report).iter("testcase")
    )
    return sum(int(count) for text in printed for count in _PASSED.findall(text))


def _ccache() -> str:
    """What ccache says of its hits since its statistics were zeroed."""
    try:
        done = subprocess.run(
            ["ccache", "--print-stats"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "no ccache"
    counts = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    hits = sum(int(counts.get(f"{kind}_cache_hit", 0)) for kind in ("direct", "preprocessed"))
    return f"{hits} of {hits + int(counts.get('cache_miss', 0))} objects"


if __name__ == "__main__":
    sys.exit(main())
