"""Makes docs/operators.md of the results of `tests.end_to_end.sweep` and `operator_census`.

``python -m tools.operators_table --census FILE --sweep portable=FILE --sweep xnnpack=FILE`` prints
it. Cases in no file are taken from ``--page docs/operators.md``, or shown as not run. ``--output``
writes to a file, which may be that page.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TYPES = ("float32", "float64", "int64", "bool", "float16", "bfloat16")
_ENGINES = ("portable", "xnnpack", "aoti")

_HEAD = """# Operators

Which of PyTorch's operators each engine computes, with which types of elements. A tool makes this
page of measured results (`python -m tools.operators_table`); nothing in it is written by hand.

A case is an entry of PyTorch's own list of operators and samples (`op_db`, {version}) with a type.
It counts as equal where PyTorch's first five samples, and the first again with NaN and infinities,
empty, of one element, of zero dimensions and not contiguous, as far as PyTorch takes them, all give
what PyTorch gives, for the call or for the same in float64: integers and bools exactly, floats
within the tolerance that `op_db` has for the operator, or `torch.testing` for the type. Where
PyTorch's sort is not stable, a stable order is accepted. Entries that draw numbers, or have complex
results, are no cases (single samples that draw are refused); nor are calls whose result depends on
where in memory their tensors lie (`as_strided`, `resize_` of what is not contiguous).

- **exported**: the sweep exported the case (`make sweep`) and compared the program's results.
- **kernels**: the census ran the case operator by operator, decomposed as an export does, through
  the kernels of the runtime, and compared each result. It says nothing of passes over whole graphs,
  and nothing of AOTInductor: where it says no, an export may still be right.

| | {columns} |
| --- | {lines} |
{counts}
What XNNPACK's delegates do not take, the kernels of `portable` compute: its column is of exports
alone. A type that a row does not name was not run there, or PyTorch does not take it. "written by
others" are decompositions and passes of this project's or PyTorch's. `through` names the kernels of
`portable` that run, four at most. `not T: A in place of B` says that the program gave A for type T,
and PyTorch B.

"""


@dataclass(frozen=True)
class Found:
    """What came of a case on an engine."""

    is_equal: bool
    told: str
    is_exported: bool


def swept(path: Path) -> dict[str, Found | None]:
    """The cases of a file of the sweep; None for what is no case."""
    found: dict[str, Found | None] = {}
    for line in _lines(path):
        told = str(line.get("told", ""))
        if "outcome" not in line:
            found[line["name"]] = Found(False, "ends the process", True)
        elif line["outcome"] == "nothing to try":
            found[line["name"]] = None
        else:
            is_equal = line["outcome"] == "equal"
            found[line["name"]] = Found(is_equal, told if is_equal else _reason(told), True)
    return found


def taken(path: Path) -> dict[str, Found]:
    """The cases of a file of the census."""
    samples: dict[str, dict[int, Mapping[str, Any]]] = collections.defaultdict(dict)
    for line in _lines(path):
        samples[line["name"]][line["number"]] = line
    found = {}
    for name, lines in samples.items():
        bad = [line for line in lines.values() if line["outcome"] != "equal"]
        if not bad:
            used = sorted({each for line in lines.values() for each in line["used"]})
            found[name] = Found(True, " ".join(used), False)
        elif bad[0]["outcome"] == "unknown":
            continue  # only an export says
        else:
            kind = "" if bad[0]["kind"] == "sample" else f"{bad[0]['kind']}: "
            told = bad[0].get("told", "ends the process")
            found[name] = Found(False, kind + _reason(told), False)
    return found


def written(page: Path) -> dict[str, dict[str, Found]]:
    """The cases that a page has, by engine.

    Raises
    ------
    ValueError
        It has none, or a cell that this tool does not write.
    """
    found: dict[str, dict[str, Found]] = {engine: {} for engine in _ENGINES}
    for line in page.read_text().splitlines():
        row = re.fullmatch(r"\| `(\S+)` \| (.*) \|", line)
        if row is None:
            continue
        *cells, through = row[2].split(" | ")
        for engine, cell in zip(_ENGINES, cells, strict=True):
            used = _used(through) if engine == "portable" else ""
            for dtype, case in _cases_of(cell, used):
                found[engine][f"{row[1]} {dtype}"] = case
    if not any(found.values()):
        raise ValueError(f"{page} has no table of operators")
    return found


_NAMES = rf"(?:{'|'.join(_TYPES)})(?: (?:{'|'.join(_TYPES)}))*"
_PART = re.compile(rf"(not )?({_NAMES})(?: \((exported|kernels)\))?(?:: (.*))?")
_NEXT_PART = re.compile(rf"; (?=not {_NAMES}(?: \(kernels\))?: |{_NAMES} \((?:exported|kernels)\))")


def _cases_of(cell: str, used: str) -> Iterator[tuple[str, Found]]:
    """The types of a cell, with what came of them."""
    for text in _NEXT_PART.split(cell) if cell != "not run" else ():
        part = _PART.fullmatch(text)
        if part is None or (part[1] is None) != (part[4] is None):
            raise ValueError(f"a cell of the page has {text!r}")
        told = used if part[4] is None else part[4]
        for dtype in part[2].split():
            yield dtype, Found(part[4] is None, told, part[3] != "kernels")


def _used(through: str) -> str:
    """The names of a row's last cell, in the form of a sweep's file."""
    names = re.findall(r"`([^`]+)`|(…)|(written by others)", through)
    return " ".join(name or more or "~" for name, more, _ in names)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        yield json.loads(line)


_PATTERNS = (
    (r"the operator 'aten\.([\w.]+)' is not of the core", r"no kernel of \1"),
    (r"aten::([\w.]+) has no kernel", r"no kernel of \1"),
    (r"aten\.([\w.]+) is not of the core set", r"no kernel of \1"),
    (r"aten\.([\w.]+) has no form that fills results", r"no kernel of \1"),
    (r"aten\.([\w.]+) draws numbers", "draws numbers"),
    (r"draws? (?:random )?numbers", "draws numbers"),
    (r"complex", "complex numbers"),
    (r"aten::([\w.]+)\(.*fails", r"\1 refuses it"),
    (r"aten::([\w.]+)\(.*: (\S+ in place of \S+)", r"\1: \2"),
    (r"the lowered program fails: method '\w+' failed: (.{0,60})", r"\1"),
    (r"(\S+) is (\S+), expected (\S+);", r"\2 in place of \3"),
    (r"(\S+ in place of \S+)", r"\1"),
    (r"every attempt failed:\s+[^:]*: (.{0,70})", r"\1"),
)


def _reason(told: str) -> str:
    """A few words for the table."""
    text = re.sub(r"\(at .*", "", re.sub(r"\s+", " ", told))  # not where it was in the tests
    for pattern, words in _PATTERNS:
        match = re.search(pattern, text)
        if match is not None:
            return match.expand(words).strip(" ;:").replace("|", "\\|")
    return textwrap.shorten(text, 80, placeholder=" …").replace("|", "\\|")


def _through(found: Iterable[Found]) -> str:
    """What computes the cases that are equal: operators, ours and decompositions."""
    names = {name for each in found if each.is_equal for name in each.told.split()}
    kernels = sorted({name.removeprefix("aten::") for name in names if name[0] not in "=~"})
    used = [f"`{name}`" for name in kernels if not name.startswith(("executorch_prim", "clone"))]
    if any(name[0] in "=~" for name in names):
        used.append("written by others")
    return " ".join(used[:4]) + (" …" if len(used) > 4 else "")


def _cell(operator: str, types: Iterable[str], results: Mapping[str, Found]) -> str:
    """The types that are equal, and why others are not."""
    equal: dict[bool, list[str]] = {True: [], False: []}
    refused: dict[tuple[str, str], list[str]] = {}
    for dtype in types:
        found = results.get(f"{operator} {dtype}")
        if found is not None and found.is_equal:
            equal[found.is_exported].append(dtype)
        elif found is not None:
            by = "" if found.is_exported else " (kernels)"
            refused.setdefault((by, found.told), []).append(dtype)
    parts = [
        f"{' '.join(names)} ({word})"
        for names, word in ((equal[True], "exported"), (equal[False], "kernels"))
        if names
    ]
    parts += [f"not {' '.join(names)}{by}: {why}" for (by, why), names in refused.items()]
    return "; ".join(parts) or "not run"


def table(results: Mapping[str, Mapping[str, Found]], version: str) -> str:
    """The page, for results by engine and case."""
    names = {name for found in results.values() for name in found}
    types: dict[str, list[str]] = {}
    for name in sorted(names):
        operator, dtype = name.rsplit(" ", 1)
        types.setdefault(operator, []).append(dtype)
    columns = " | ".join(_ENGINES)
    head = _HEAD.format(
        version=f"torch {version}",
        columns=columns,
        lines=" | ".join("---" for _ in _ENGINES),
        counts="".join(_counts(results)),
    )
    rows = [f"| operator | {columns} | through |", "| --- " * (len(_ENGINES) + 2) + "|"]
    for operator, dtypes in types.items():
        ordered = sorted(dtypes, key=_TYPES.index)
        cells = [_cell(operator, ordered, results[engine]) for engine in _ENGINES]
        found = results["portable"]
        through = _through(found[f"{operator} {t}"] for t in ordered if f"{operator} {t}" in found)
        rows.append(f"| `{operator}` | {' | '.join(cells)} | {through} |")
    return head + "\n".join(rows) + "\n"


def _counts(results: Mapping[str, Mapping[str, Found]]) -> Iterator[str]:
    for words, is_exported in (("cases exported", True), ("cases through kernels", False)):
        cells = []
        for engine in _ENGINES:
            found = [each for each in results[engine].values() if each.is_exported == is_exported]
            equal = sum(each.is_equal for each in found)
            cells.append(f"{len(found)}, of them {equal} equal" if found else "none")
        yield f"| {words} | {' | '.join(cells)} |\n"


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--census", type=Path)
    parser.add_argument("--sweep", action="append", default=[], metavar="BACKEND=FILE")
    parser.add_argument("--page", type=Path, help="where cases are that are in no file")
    parser.add_argument("--output", type=Path, help="where to write the page (default: stdout)")
    parser.add_argument("--torch", default="2.13", help="the version that the results are of")
    options = parser.parse_args()
    results: dict[str, dict[str, Found]] = {engine: {} for engine in _ENGINES}
    if options.page is not None:
        results = written(options.page)
    if options.census is not None:
        exported = {name: each for name, each in results["portable"].items() if each.is_exported}
        results["portable"] = taken(options.census) | exported
    for each in options.sweep:
        backend, _, path = each.partition("=")
        merged = {**results[backend], **swept(Path(path))}
        results[backend] = {name: case for name, case in merged.items() if case is not None}
    page = table(results, options.torch)
    if options.output is not None:
        options.output.write_text(page)
    else:
        print(page, end="")


if __name__ == "__main__":
    main()
