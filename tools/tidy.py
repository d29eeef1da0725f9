"""Run clang-tidy on the sources of a compilation database that are not known to be clean.

A source is known when its command, its text, the project's headers that it may include, the
configuration, clang-tidy's version and the installed packages are what they were when it was clean;
what comments say does not count. What is known outlives the build directory and the clone: it lies
in the user's cache, as the digests of clean sources. POLYSTATE_CACHE names another folder, or none
where it is empty.

Tests of a folder are read together, in a quarter of the time: most of it goes into their headers.
Whether a test includes what it uses is seen only if it is read by itself (`--alone`).
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
import subprocess
import sys
import tempfile
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

    commands = own_commands(options.build)
    if options.sources:
        wanted = {source.resolve() for source in options.sources}
        commands = [command for command in commands if Path(command["file"]) in wanted]
    clean, digests = CleanSources.open(), Digests()
    digest_of = {command["file"]: digests.of(command) for command in commands}
    unknown = [c for c in commands if not clean.has(digest_of[c["file"]], alone=options.alone)]
    readings = [[command] for command in unknown] if options.alone else joined(unknown)
    findings = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(lambda reading: tidy(reading, options.build), readings)
        for reading, report in zip(readings, reports, strict=True):
            files = [command["file"] for command in reading]
            if report:
                findings += 1
                names = (str(Path(file).relative_to(ROOT)) for file in files)
                print(f"{', '.join(names)}:\n{report}", flush=True)
                continue
            for file in files:
                clean.add(digest_of[file], alone=len(files) == 1)
    clean.prune()
    print(
        f"clang-tidy: {len(commands)} sources, {len(commands) - len(unknown)} of them known to be "
        f"clean, {findings} of {len(readings)} readings with findings"
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


def joined(commands: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Put sources together that are read at once: tests of one folder and program.

    Those of kernels, whose hidden names collide, stay alone, as when they are compiled.
    """
    together: dict[str, list[dict[str, str]]] = {}
    for command in commands:
        source = Path(command["file"])
        folder = source.parent.relative_to(ROOT)
        key = str(source)
        if folder.is_relative_to("tests/cpp") and folder.name != "kernels":
            key = command["command"].replace(str(source), "").replace(f"/{source.name}.", "/.")
        together.setdefault(key, []).append(command)
    return list(together.values())


def tidy(commands: list[dict[str, str]], build: Path) -> str:
    """Return clang-tidy's report on sources that are read at once, empty when they are clean."""
    if len(commands) == 1:
        return _report(build, commands[0]["file"])
    sources = [command["file"] for command in commands]
    with tempfile.TemporaryDirectory(dir=build) as name:
        folder = Path(name)
        whole = str(folder / "joined.cc")
        Path(whole).write_text("".join(f'#include "{source}"\n' for source in sources))
        command = {
            "directory": commands[0]["directory"],
            "file": whole,
            "command": commands[0]["command"].replace(sources[0], whole),
        }
        (folder / "compile_commands.json").write_text(json.dumps([command]))
        (folder / ".clang-tidy").write_bytes((ROOT / "tests" / ".clang-tidy").read_bytes())
        return _report(folder, whole, f"--checks=-{',-'.join(_OF_ONE_SOURCE)}")


# Checks that see nothing of what a source includes, or would object to sources that are included.
_OF_ONE_SOURCE = ("misc-include-cleaner", "bugprone-suspicious-include")


def _report(build: Path, source: str, *options: str) -> str:
    # The commands are another compiler's, whose tuning clang does not know.
    quiet = ["--quiet", "--extra-arg=-Wno-unused-command-line-argument"]
    result = run([PROGRAM, "-p", str(build), *quiet, *options, source])
    return "" if result.returncode == 0 else (result.stdout + result.stderr).decode()


# What clang-tidy itself reads of comments counts.
_COMMENT = re.compile(rb"^[ \t]*//(?!.*(?:NOLINT|IWYU)).*$", re.M)
_INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


class CleanSources:
    """The digests of clean sources: empty files of these names, the newest of them kept.

    Behind those of sources that were read with others stands `_JOINED`.
    """

    _KEPT = 5000
    _JOINED = "-joined"

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @staticmethod
    def open() -> CleanSources:
        """Open those of the user's cache."""
        folder = user_cache.folder("clang-tidy")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        return CleanSources(folder)

    def has(self, digest: str, *, alone: bool = False) -> bool:
        """Tell whether a source was clean (when read `alone`), which keeps it for longer."""
        for mark in [digest] if alone else [digest, digest + self._JOINED]:
            if self._folder is not None and (self._folder / mark).exists():
                (self._folder / mark).touch()
                return True
        return False

    def add(self, digest: str, *, alone: bool = True) -> None:
        """Note that a source is clean."""
        if self._folder is not None:
            (self._folder / (digest if alone else digest + self._JOINED)).touch()

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

    def of(self, command: dict[str, str]) -> str:
        """Return the digest of a source that is compiled by a command."""
        words = [word.replace(str(ROOT), ".") for word in shlex.split(command["command"])]
        digest = hashlib.sha256(f"{self._surroundings} {shlex.join(words)}".encode())
        source = Path(command["file"])
        configurations = [folder / ".clang-tidy" for folder in source.parents]
        files = [file for file in configurations if file.exists() and file.is_relative_to(ROOT)]
        for file in [*files, *sorted(self._included(source, include_folders(command)))]:
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
