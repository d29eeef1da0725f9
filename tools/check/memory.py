"""What passed, by the digests of the files that it depended on."""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools.ingredients import ROOT


@dataclass
class Memory:
    """Checks and tests by name, each with its files' digests when it passed.

    Attributes
    ----------
    seconds
        How long each test took when it ran last, by the name that pytest gives it.
    """

    path: Path
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def open(path: Path) -> Memory:
        """Reads a memory; an empty one if it is missing or cannot be read."""
        try:
            content = json.loads(path.read_text())
            return Memory(path, content["files"], content["seconds"])
        except (OSError, ValueError, KeyError):
            return Memory(path)

    def save(self) -> None:
        """Writes it, as a whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"files": self.files, "seconds": self.seconds}))
        new.replace(self.path)

    def changes(self, name: str, files: Iterable[Path]) -> list[str]:
        """The files that changed since a check passed or, where it never ran, since the commit.

        After it failed, the name of the check.
        """
        before, now = self.files.get(name), _digests(files)
        if before is None:
            return sorted(now.keys() & _not_committed())
        if not before:
            return [name]
        return sorted(f for f in before.keys() | now.keys() if before.get(f) != now.get(f))

    def note(self, name: str, files: Iterable[Path]) -> None:
        """Remembers that a check passed with the files as they are."""
        self.files[name] = _digests(files)

    def note_unchanged(self, checks: dict[str, frozenset[Path]], begun: Path) -> None:
        """Remembers of checks that passed those whose files are as they were when all began.

        Parameters
        ----------
        checks
            The files that each one depends on.
        begun
            A file that was written then, with the names of the repository's files: where one of
            these is no more, nothing is remembered, as it may have been any check's.
        """
        if not all((ROOT / name).exists() for name in begun.read_text().splitlines()):
            return
        since = begun.stat().st_mtime_ns
        for name, files in checks.items():
            if all(_changed_last(path) < since for path in files):
                self.note(name, files)

    def forget(self, name: str) -> None:
        """Remembers that a check failed."""
        self.files[name] = {}


def _digests(files: Iterable[Path]) -> dict[str, str]:
    digests = ((path, _digest(path)) for path in files)
    return {_name(path): digest for path, digest in digests if digest}


@functools.cache
def _name(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


@functools.cache
def _not_committed() -> frozenset[str]:
    """The files that are not as they were committed last."""
    command = ["git", "status", "--porcelain=1", "--no-renames", "-uall"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return frozenset(line[3:] for line in done.stdout.splitlines())


@functools.cache
def _changed_last(path: Path) -> int:
    """When a file got its content, place or mode, in nanoseconds; 0 where there is no file."""
    return path.stat().st_ctime_ns if path.exists() else 0


@functools.cache
def _digest(path: Path) -> str | None:
    """The digest of a file; none where there is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
