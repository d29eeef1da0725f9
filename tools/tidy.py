"""Run clang-tidy on the sources of a compilation database that are not known to be clean.

A source is known when its command, its text, the project's headers that it may include, the
configuration, clang-tidy's version and the installed packages are what they were when it was clean;
what comments say does not count. What is known outlives the build directory and the clone: it lies
in the user's cache, as the digests of clean sources. POLYSTATE_CACHE names another folder, or none
where it is empty.

Sources of a folder are read together, in a quarter of the time: most of it goes into their headers.
Whether a source includes what it uses, and uses each alias and name that it declares, is checked
only if it is read by itself: tests where all are (`--alone`), others unless too many are unknown.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import functools
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import clang_tidy

from tools import user_cache

ROOT = Path(__file__).resolve().parent.parent

# What says which headers of others tools/setup.sh installs, and how it changes them.
_PINS = ("tools/requirements.txt", "tools/xgrammar.txt", "tools/xgrammar.patch")

# The program itself: the command of its package starts an interpreter for each source.
PROGRAM = str(clang_tidy.get_executable("clang-tidy"))


def main() -> int:
    """Check what is not known to be clean; the exit status is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="a configured build directory")
    parser.add_argument("--jobs", type=int, default=2, help="sources at a time (default: 2)")
    parser.add_argument("--alone", action="store_true", help="read each source by itself")
    parser.add_argument("sources", nargs="*", type=Path, help="only these (default: all)")
    options = parser.parse_args()

    if not options.build.resolve().is_relative_to(ROOT):
        parser.error(f"--build has to be within {ROOT}, where the configuration is")

    commands = own_commands(options.build)
    if options.sources:
        wanted = {source.resolve() for source in options.sources}
        commands = [command for command in commands if Path(command["file"]) in wanted]
    clean = CleanSources.open()
    readings = readings_of(commands, Digests(), clean, alone=options.alone)
    findings = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(lambda reading: reading.report(options.build), readings)
        for reading, report in zip(readings, reports, strict=True):
            if report:
                findings += 1
                names = (str(Path(source).relative_to(ROOT)) for source in reading.sources)
                print(f"{', '.join(names)}:\n{report}", flush=True)
                continue
            for digest in reading.digests:
                clean.add(digest)
    clean.prune()
    known = len(commands) - sum(len(reading.sources) for reading in readings)
    print(
        f"clang-tidy: {len(commands)} sources, {known} of them known to be clean, {findings} of "
        f"{len(readings)} readings with findings"
    )
    return 1 if findings else 0


def own_commands(build: Path) -> list[dict[str, str]]:
    """Return the database's entries for sources of this project, each source once."""
    entries = json.loads((build / "compile_commands.json").read_text())
    own = {entry["file"]: entry for entry in entries if Path(entry["file"]).is_relative_to(ROOT)}
    others = (build.resolve(), ROOT / ".venv")  # what is generated, and libraries' sources
    return [
        own[file]
        for file in sorted(own)
        if not any(Path(file).is_relative_to(folder) for folder in others)
    ]


# Checks that see nothing in sources that another includes, and one that objects to such sources.
_OF_ONE_SOURCE = (
    "misc-include-cleaner",
    "misc-unused-alias-decls",
    "misc-unused-using-decls",
    "bugprone-suspicious-include",
)


@dataclass
class Reading:
    """Sources that clang-tidy reads at once, by their entries in the database.

    Several are read without the checks of `_OF_ONE_SOURCE`, which their digests say.
    """

    commands: list[dict[str, str]]
    digests: list[str]

    @property
    def sources(self) -> list[str]:
        """The paths of the sources."""
        return [command["file"] for command in self.commands]

    def size(self) -> int:
        """Return how much there is to read, in bytes without headers."""
        return sum(Path(source).stat().st_size for source in self.sources)

    def report(self, build: Path) -> str:
        """Return clang-tidy's report, empty when the sources are clean."""
        if len(self.sources) == 1:
            return _report(build, self.sources[0])
        with tempfile.TemporaryDirectory(dir=build.resolve()) as name:
            folder, first = Path(name), self.commands[0]
            joined = str(folder / "joined.cc")
            Path(joined).write_text("".join(f'#include "{source}"\n' for source in self.sources))
            command = first["command"].replace(first["file"], joined)
            (folder / "compile_commands.json").write_text(
                json.dumps([first | {"file": joined, "command": command}])
            )
            shutil.copy(configurations(Path(self.sources[0]))[0], folder)
            return _report(folder, joined, f"--checks=-{',-'.join(_OF_ONE_SOURCE)}")


def configurations(source: Path) -> list[Path]:
    """Return this project's configurations that hold for a source, the nearest first."""
    files = (folder / ".clang-tidy" for folder in source.parents)
    return [file for file in files if file.exists() and file.is_relative_to(ROOT)]


def _report(build: Path, source: str, *options: str) -> str:
    # The commands are another compiler's, whose tuning clang does not know.
    quiet = ["--quiet", "--extra-arg=-Wno-unused-command-line-argument"]
    result = run([PROGRAM, "-p", str(build), *quiet, *options, source])
    return "" if result.returncode == 0 else (result.stdout + result.stderr).decode()


# As many sources are compiled together (cmake/polystate_joined_sources.cmake).
_TOGETHER = 12

# Of sources that are no tests, how many are read by themselves: a change reaches less.
_FEW = 100


def readings_of(
    commands: list[dict[str, str]], digests: Digests, clean: CleanSources, *, alone: bool
) -> list[Reading]:
    """Return how sources are read that are not known to be clean, the longest reading first."""
    unknown = [
        command
        for command in commands
        if not clean.has(digests.of(command))
        and (alone or not clean.has(digests.of(command, _OF_ONE_SOURCE)))
    ]
    few = sum(not is_test(command) for command in unknown) <= _FEW
    groups: dict[str, list[dict[str, str]]] = {}
    for command in unknown:
        by_itself = alone or (few and not is_test(command))
        alike = None if by_itself else compiled_alike(command)
        groups.setdefault(alike or command["file"], []).append(command)
    readings = []
    for group in groups.values():
        for first in range(0, len(group), _TOGETHER):
            part = group[first : first + _TOGETHER]
            without = _OF_ONE_SOURCE if len(part) > 1 else ()
            readings.append(Reading(part, [digests.of(command, without) for command in part]))
    # The longest first, so that none is left alone at the end.
    return sorted(readings, key=Reading.size, reverse=True)


def is_test(command: dict[str, str]) -> bool:
    """Tell whether a source is one of the C++ tests."""
    return Path(command["file"]).is_relative_to(ROOT / "tests" / "cpp")


def compiled_alike(command: dict[str, str]) -> str | None:
    """Return what the sources of one folder and target have in common, for others none.

    Hidden names of the inner loops and their tests collide: they are read alone, as they are
    compiled.
    """
    source = Path(command["file"])
    folder = source.relative_to(ROOT).parent
    if folder.is_relative_to("src/kernels") or folder.is_relative_to("tests/cpp/kernels"):
        return None
    return command["command"].replace(str(source), "").replace(f"/{source.name}.", "/.")


# What clang-tidy itself reads of comments counts.
_COMMENT = re.compile(rb"^[ \t]*//(?!.*(?:NOLINT|IWYU)).*$", re.M)
_INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


class CleanSources:
    """The digests of clean sources: empty files of these names, the newest of them kept."""

    _KEPT = 5000

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @staticmethod
    def open() -> CleanSources:
        """Open those of the user's cache."""
        folder = user_cache.folder("clang-tidy")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        return CleanSources(folder)

    def has(self, digest: str) -> bool:
        """Tell whether a source was clean, which keeps it for longer."""
        if self._folder is None or not (self._folder / digest).exists():
            return False
        (self._folder / digest).touch()
        return True

    def add(self, digest: str) -> None:
        """Note that a source is clean."""
        if self._folder is not None:
            (self._folder / digest).touch()

    def prune(self) -> None:
        """Forget those that were not asked for the longest."""
        asked: dict[Path, float] = {}
        for mark in self._folder.iterdir() if self._folder is not None else ():
            with contextlib.suppress(FileNotFoundError):  # another run forgets it
                asked[mark] = mark.stat().st_mtime
        for mark in sorted(asked, key=lambda mark: -asked[mark])[self._KEPT :]:
            mark.unlink(missing_ok=True)


class Digests:
    """Digests of all that decides about a source's findings, the same in every clone."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        version = run([PROGRAM, "--version"]).stdout
        packages = run(["dpkg-query", "-W"]).stdout  # whose headers may be included
        pins = b"".join((ROOT / pin).read_bytes() for pin in _PINS)
        self._surroundings = hashlib.sha256(version + packages + pins).hexdigest()

    def of(self, command: dict[str, str], without: tuple[str, ...] = ()) -> str:
        """Return the digest of a source that is compiled by a command, `without` some checks."""
        words = [word.replace(str(ROOT), ".") for word in shlex.split(command["command"])]
        digest = hashlib.sha256(f"{self._surroundings} {shlex.join(words)}".encode())
        digest.update("".join(f" -{check}" for check in without).encode())
        source = Path(command["file"])
        included = self._included(source, include_folders(command))
        for file in [*configurations(source), *sorted(included)]:
            digest.update(f"{file.relative_to(ROOT)} ".encode() + self._content(file))
        return digest.hexdigest()

    def _included(self, source: Path, folders: list[Path]) -> set[Path]:
        """Return a source and what it may include of this project, whatever its conditions say."""
        found: set[Path] = set()
        waiting = [source]
        while waiting:
            file = waiting.pop()
            if file in found:
                continue
            found.add(file)
            for name in _INCLUDE.findall(self._content(file)):
                candidates = (folder / name.decode() for folder in (file.parent, *folders))
                waiting += [path for path in candidates if path in _own_files()]
        return found

    def _content(self, file: Path) -> bytes:
        if file not in self._contents:
            # A line of comment is a line, since functions have a limit of them.
            self._contents[file] = _COMMENT.sub(b"//", file.read_bytes())
        return self._contents[file]


@functools.cache
def _own_files() -> frozenset[Path]:
    """Return what a source of this project may include of it."""
    names = run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]).stdout.decode()
    return frozenset(ROOT / name for name in names.splitlines())


def include_folders(command: dict[str, str]) -> list[Path]:
    """Return the folders of this project in which a command looks for headers."""
    words = shlex.split(command["command"])
    folders = [Path(word[2:]) for word in words if word.startswith("-I")]
    return [folder for folder in folders if folder.is_relative_to(ROOT)]


def run(command: list[str], cwd: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command, whatever its exit status, and keep what it prints."""
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
