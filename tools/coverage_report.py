"""Print which lines the tests reach, from what gcovr and coverage.py counted.

    python -m tools.coverage_report cpp.json python.json

The first file is gcovr's, by --json; the second coverage.py's. Sources for instruction sets that
this processor lacks are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

_WORST = 15
# By the end of a source's name, what /proc/cpuinfo calls that which its loops need.
_NEEDED = {
    "avx2": {"avx2", "fma", "f16c"},
    "avx_vnni": {"avx_vnni"},
    "avx512": {"avx512f", "avx512bw"},
    "avx512_vnni": {"avx512_vnni"},
    "neon": {"asimd"},
    "neon_dot": {"asimddp"},
}


@dataclass(frozen=True)
class Lines:
    """How many lines there are, and how many of them no test reaches."""

    count: int
    missed: int

    @property
    def percent(self) -> float:
        """Of the lines that are reached."""
        return 100 * (1 - self.missed / self.count) if self.count else 100.0

    def __str__(self) -> str:
        return f"{self.percent:5.1f}%  {self.missed:6,} of {self.count:6,} missed"


Files = Mapping[str, Lines]


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="coverage_report", description=__doc__.splitlines()[0])
    parser.add_argument("cpp", type=Path, help="what gcovr counted")
    parser.add_argument("python", type=Path, help="what coverage.py counted")
    options = parser.parse_args()
    cpp, left_out = without_lacking(read_cpp(json.loads(options.cpp.read_text())), own_features())
    python = read_python(json.loads(options.python.read_text()))
    print("\n".join(report(cpp, python, left_out)))
    return 0


def read_cpp(document: Any) -> dict[str, Lines]:
    """The lines of each file, by gcovr's document."""
    found = {}
    for file in document["files"]:
        # A line of a template, or of a source that is compiled twice, is there several times.
        reached: dict[int, bool] = {}
        for line in file["lines"]:
            number = line["line_number"]
            reached[number] = reached.get(number, False) or line["count"] > 0
        found[file["file"]] = Lines(len(reached), sum(not hit for hit in reached.values()))
    return found


def read_python(document: Any) -> dict[str, Lines]:
    """The lines of each file, by coverage.py's document."""
    return {
        name: Lines(file["summary"]["num_statements"], file["summary"]["missing_lines"])
        for name, file in document["files"].items()
    }


def without_lacking(files: Files, features: set[str]) -> tuple[dict[str, Lines], list[str]]:
    """Files that a processor with some features can run, and the names of the others."""
    left_out = [name for name in files if not _needed(name) <= features]
    return {name: lines for name, lines in files.items() if name not in left_out}, left_out


def _needed(name: str) -> set[str]:
    stem = PurePosixPath(name).stem.removesuffix("_floats")
    ends = [end for end in _NEEDED if stem == end or stem.endswith(f"_{end}")]
    return _NEEDED[max(ends, key=len)] if ends else set()


def own_features() -> set[str]:
    """What this processor has."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found[1].split()) if found else set()


def report(cpp: Files, python: Files, left_out: Iterable[str]) -> list[str]:
    """The report's lines: each part's folders, and the files with the most lines missed."""
    text = []
    for title, files in (("C++", cpp), ("Python", python)):
        text += [title, ""]
        text += [f"  {name:38}{lines}" for name, lines in _folders(files).items()]
        worst = sorted(files.items(), key=lambda each: -each[1].missed)[:_WORST]
        text += ["", f"{title}, files with the most lines missed", ""]
        text += [f"  {name:58}{lines}" for name, lines in worst if lines.missed] + [""]
    return text + [f"left out, for what this processor lacks: {name}" for name in sorted(left_out)]


def _folders(files: Files) -> dict[str, Lines]:
    """The lines of each folder with those below it, as far as they tell layers apart."""
    found: dict[str, Lines] = {}
    for name, lines in files.items():
        parts = PurePosixPath(name).parts[:-1]
        top = 2 if parts[0] == "python" else 1
        for depth in range(top, min(len(parts), top + 1) + 1):
            folder = "/".join(parts[:depth])
            before = found.get(folder, Lines(0, 0))
            found[folder] = Lines(before.count + lines.count, before.missed + lines.missed)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    raise SystemExit(main())
