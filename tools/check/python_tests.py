"""The tests in Python that a change can reach, the nearest first, as far as there is time."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from tools import ingredients
from tools.check import programs
from tools.check.memory import Memory
from tools.check.static_checks import reason
from tools.ingredients import ROOT

_REPORT = ROOT / "build/check-python-tests.xml"
_WHOLE_REPORT = ROOT / "build/python-tests.xml"
_LEFT_OUT = ROOT / "build/check-left-out.json"  # names of tests, which tests/conftest.py reads
_UNKNOWN = 3.0  # seconds, of a test that never ran
_MOST_FAILURES = 5  # where pytest stops

# Exit statuses of pytest that came to an end; the last where it leaves out all that it was given.
_PASSED, _FAILED, _NOTHING = 0, 1, 5

# For each folder of sources the tests that are nearest to it.
_NEAREST = {
    "bindings": ("tests/python/runtime",),
    "cli": ("tests/end_to_end/test_cli",),
    "docs": ("tests/end_to_end/test_",),
    "python/polystate/artifact": ("tests/python/artifact",),
    "python/polystate/cli": ("tests/python/cli", "tests/end_to_end/test_cli_export"),
    "python/polystate/export": ("tests/python/export", "tests/end_to_end/test_state_hazards"),
    "python/polystate/ops": ("tests/python/ops", "tests/python/export"),
    "python/polystate/recipes": ("tests/python/recipes",),
    "python/polystate/runtime": ("tests/python/runtime",),
    "src/artifact": ("tests/python/runtime/test_inputs", "tests/end_to_end/test_contract_table"),
    "src/engine": ("tests/python/runtime", "tests/end_to_end/test_aoti"),
    "src/kernels": ("tests/python/ops",),
    "src/pipeline": ("tests/python/runtime/generation", "tests/end_to_end/test_cli_translate"),
    "src/profile": ("tests/end_to_end/test_cli_run", "tests/end_to_end/test_kernel_times"),
    "src/program": ("tests/end_to_end/test_cli_inspect", "tests/end_to_end/test_cli_diff"),
    "src/report": ("tests/python/report",),
    "src/runner": ("tests/python/runner", "tests/python/recipes/test_generate"),
    "src/sampler": ("tests/python/sampler", "tests/python/recipes/test_generate"),
    "src/session": ("tests/python/runtime",),
    "src/tokenizer": ("tests/python/tokenizer", "tests/python/runtime/test_tokenizer"),
    "tools": ("tests/python/tools",),
}


@dataclass(frozen=True)
class _Reached:
    """A file of tests that a change can reach.

    Attributes
    ----------
    distance
        From the change: 0 for what was changed itself, more for what is farther.
    imports
        How many lead from it to the change, at the least.
    tests
        Its tests with the seconds that each took when it ran last.
    """

    path: Path
    changes: list[str]
    distance: int
    imports: int
    tests: dict[str, float]


@dataclass(frozen=True)
class Selection:
    """What is to run: all tests of some files, and some tests of others."""

    whole: list[_Reached]
    parts: dict[str, float]
    left: list[_Reached]


def select(memory: Memory, seconds: float) -> Selection:
    """Choose what runs of the tests whose ingredients changed, the nearest first.

    Parameters
    ----------
    seconds
        Of processor time, as far as it is known from earlier runs.
    """
    whole: list[_Reached] = []
    parts: dict[str, float] = {}
    left: list[_Reached] = []
    for file in sorted(_reached(memory), key=lambda f: (f.distance, f.imports, _cost(f))):
        if _cost(file) <= seconds:
            seconds -= _cost(file)
            whole.append(file)
            continue
        left.append(file)
        if file.distance <= _NEAR:
            some = _spread(file.tests, seconds)
            seconds -= sum(some.values())
            parts |= some
    return Selection(whole, parts, left)


_NEAR = 2


def run(selection: Selection, memory: Memory, jobs: int) -> bool:
    """Run a selection, say why, and remember what passed; tell whether all of it did."""
    for file in selection.whole:
        print(f"check: {file.path.relative_to(ROOT)} ({reason(file.changes)})")
    for file in selection.left:
        some = [name for name in selection.parts if name in file.tests]
        if some:
            what = f"{len(some)} of {len(file.tests)} tests"
            print(f"check: {what} of {file.path.relative_to(ROOT)} ({reason(file.changes)})")
    if selection.left:
        names = ", ".join(file.path.stem for file in selection.left)
        print(f"check: for time left, in part or whole, to `make test`: {names}")
    sampled = [file for file in selection.left if file.tests.keys() & selection.parts.keys()]
    files = [file.path for file in (*selection.whole, *sampled)]
    left_out = {name for file in sampled for name in file.tests} - selection.parts.keys()
    if not programs.build(files, jobs):
        return False
    status = _run_pytest(files, sorted(left_out), jobs) if files else _NOTHING
    note(selection, memory, _REPORT if files else None, status)
    return status in (_PASSED, _NOTHING)


def _run_pytest(files: list[Path], left_out: list[str], jobs: int) -> int:
    """Run files of tests without some of their tests, which may be no more."""
    sys.stdout.flush()
    _REPORT.unlink(missing_ok=True)
    _LEFT_OUT.parent.mkdir(parents=True, exist_ok=True)
    _LEFT_OUT.write_text(json.dumps(left_out))
    command = ["pytest", "--quiet", "--no-header", "--disable-warnings"]
    command += [f"--dist={_distribution(files, jobs)}", f"--maxfail={_MOST_FAILURES}"]
    command += [f"--numprocesses={jobs}", f"--junitxml={_REPORT}", *map(str, files)]
    environment = {
        **os.environ,
        "POLYSTATE_ANY_MAKER": "1",  # exporting takes minutes
        "POLYSTATE_LEFT_OUT": str(_LEFT_OUT),
    }
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _distribution(files: list[Path], jobs: int) -> str:
    """Choose how pytest divides tests among its workers.

    Many files are given away as wholes, so that what a file makes once is made once. The tests of a
    few are divided, but not those of files that empty a folder of the clone.
    """
    has_many = len(files) >= _MANY * jobs
    return "loadfile" if has_many or any(map(_empties_a_folder, files)) else "worksteal"


_MANY = 4  # files for each worker


def _empties_a_folder(path: Path) -> bool:
    return "rmtree(" in _text(path) and '"build/' in _text(path)


def note(selection: Selection, memory: Memory, report: Path | None, status: int) -> None:
    """Remember what passed and what failed of a selection, by pytest's report and exit status.

    Of files that are left, what did not fail counts as passed. Where pytest was stopped, nothing
    does: what it had not come to is as it was, and is selected again.
    """
    outcome = _Outcome() if report is None else _read_report(memory, report)
    all_passed = status in (_PASSED, _NOTHING)
    has_ended = all_passed or (status == _FAILED and outcome.failures < _MOST_FAILURES)
    for file in selection.whole:
        if has_ended and _key(file.path) in outcome.ran:
            _forget_others(memory, _key(file.path), outcome.tests)
    for file in [*selection.whole, *selection.left]:
        key = _key(file.path)
        if key in outcome.failed or not (all_passed or outcome.ran):
            memory.forget(key)
        elif has_ended and (all_passed or file in selection.left or key in outcome.ran):
            memory.note(key, _files(file.path))


def _forget_others(memory: Memory, key: str, tests: set[str]) -> None:
    """Forget the tests of a file that are no more, as it ran and these are all."""
    for name in [name for name in memory.seconds if name.startswith(f"{key}::")]:
        if name not in tests:
            del memory.seconds[name]


def read_seconds(memory: Memory) -> None:
    """Remember how long each test took in `make test`, and no others."""
    tests = _read_report(memory, _WHOLE_REPORT).tests
    if tests:
        memory.seconds = {name: memory.seconds[name] for name in sorted(tests)}


def all_files() -> dict[str, frozenset[Path]]:
    """What each file of tests depends on."""
    return {_key(path): _files(path) for path in ROOT.glob("tests/**/test_*.py")}


def _reached(memory: Memory) -> list[_Reached]:
    found = []
    memory.seconds = {
        name: seconds
        for name, seconds in memory.seconds.items()
        if (ROOT / name.partition("::")[0]).is_file()
    }
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        changes = memory.changes(_key(path), _files(path))
        if changes:
            known = {
                name: seconds
                for name, seconds in memory.seconds.items()
                if name.startswith(f"{_key(path)}::")
            }
            distance, imports = _distance(path, changes), _imports(path, changes)
            found.append(_Reached(path, changes, distance, imports, known))
    return found


def _key(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _cost(file: _Reached) -> float:
    return sum(file.tests.values()) if file.tests else 5 * _UNKNOWN


def _spread(tests: dict[str, float], seconds: float) -> dict[str, float]:
    """Tests from all over a file that fit into some seconds."""
    chosen: dict[str, float] = {}
    names = list(tests)
    for start in (7, 3, 5, 1, 0, 2, 4, 6):  # in an order that is no order of the file
        for name in names[start::8]:
            if tests[name] <= seconds:
                seconds -= tests[name]
                chosen[name] = tests[name]
    return chosen


def _distance(path: Path, changes: list[str]) -> int:
    """How far a file of tests is from what changed."""
    name = _key(path)
    own = {change for change in changes if change.startswith("tests/")}
    if name in own:
        return 0
    distances = [4]
    for change in changes:
        words = Path(change).stem
        if words in path.stem or f".{words}" in _text(path):
            distances.append(1)
        for folder, nearest in _NEAREST.items():
            if change.startswith(f"{folder}/") and name.startswith(nearest):
                distances.append(2)
        if own and Path(change).parent == Path(name).parent:
            distances.append(1)
    return min(distances)


def _imports(path: Path, changes: list[str]) -> int:
    steps = ingredients.steps(path)
    return min((steps.get(ROOT / change, len(steps)) for change in changes), default=0)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text()


@functools.cache
def _files(path: Path) -> frozenset[Path]:
    """What a file of tests depends on.

    Sources, what they name, the sources of what it runs that is compiled, and installed packages.
    """
    conftests = (folder / "conftest.py" for folder in path.parents if folder != ROOT)
    found = set(ingredients.sources(path, *(each for each in conftests if each.is_file())))
    imported = tuple(found)
    found |= {file for source in imported for file in _named(source)}
    if any(_runs_cpp(source) for source in imported):
        found |= _cpp_sources()
    if any(source.name == "executables.py" for source in imported):
        found |= _program_sources()
    return frozenset([*found, ROOT / "tools/requirements.txt", ROOT / "pyproject.toml"])


# Helpers of tests that run programs; the first two those of build/dev.
_RUN_PROGRAMS = ("executables.py", "printed_programs.py", "command_line.py")


def _runs_cpp(source: Path) -> bool:
    """Tell whether a source runs the extension, or a program."""
    is_code = source.suffix == ".py" and not source.is_relative_to(ROOT / "tools")
    return source.name in _RUN_PROGRAMS or (
        is_code and _EXTENSION.search(_text(source)) is not None
    )


_EXTENSION = re.compile(r"import _core\b|polystate\._core\b")


@functools.cache
def _cpp_sources() -> frozenset[Path]:
    folders = ("include", "src", "bindings", "cli", "cmake")
    others = ("CMakeLists.txt", "CMakePresets.json", "tools/xgrammar.txt", "tools/xgrammar.patch")
    return frozenset(
        [*(file for folder in folders for file in _in(ROOT / folder)), *(ROOT / o for o in others)]
    )


@functools.cache
def _program_sources() -> frozenset[Path]:
    """What programs of tests/cpp may be made of that are no tests themselves."""
    return frozenset(f for f in _in(ROOT / "tests/cpp") if not f.name.endswith("_test.cc"))


@functools.cache
def _named(source: Path) -> tuple[Path, ...]:
    """The files, and those in folders, that a source of tests names.

    From the root of the repository or from its own folder; what is built does not count.
    """
    if "tests" not in source.relative_to(ROOT).parts:
        return ()
    texts = {
        node.value
        for node in ast.walk(ast.parse(source.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and 3 <= len(node.value) < 100 and "\n" not in node.value
        and not node.value.startswith(("/", ".", "*"))
    }  # fmt: skip
    found: list[Path] = []
    for text in texts:
        for path in (ROOT / text, source.parent / text):
            if path.is_file():
                found.append(path)
            elif path.is_dir() and path not in _TOO_MUCH:
                found += _in(path)
    return tuple(path for path in found if not path.is_relative_to(_BUILD))


_BUILD = ROOT / "build"
_TOO_MUCH = (ROOT / "tests", ROOT / "python", _BUILD)  # folders that a name alone does not mean


@functools.cache
def _in(folder: Path) -> tuple[Path, ...]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return tuple(file for file in files if "__pycache__" not in file.parts)


@dataclass
class _Outcome:
    """What a report says.

    Attributes
    ----------
    ran
        The files of which there are tests.
    tests
        Their names.
    failed
        The files of which a test failed, or that could not be collected.
    failures
        How many that were, of tests and files.
    """

    ran: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    failures: int = 0


def _read_report(memory: Memory, report: Path) -> _Outcome:
    """Remember how long tests took; return what became of them."""
    outcome = _Outcome()
    if not report.is_file():
        return outcome
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        file = (module or name).replace(".", "/") + ".py"  # a file as a whole has no class
        outcome.ran.add(file)
        if module:
            outcome.tests.add(f"{file}::{name}")
            memory.seconds[f"{file}::{name}"] = float(case.get("time", 0))
        if any(child.tag in ("failure", "error") for child in case):
            outcome.failed.add(file)
            outcome.failures += 1
    return outcome
