"""A fault: a change of one token or one statement of a source, which is put in and taken out."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

KINDS = (
    "argument",
    "arithmetic",
    "comparison",
    "condition",
    "constant",
    "dropped check",
    "dropped statement",
)


class FaultError(Exception):
    """What a user is told when a fault cannot be drawn, put in or tried."""


@dataclass(frozen=True)
class Change:
    """The characters ``start`` to ``end`` of a text, which become ``replacement``."""

    kind: str
    start: int
    end: int
    replacement: str
    description: str


@dataclass(frozen=True)
class Fault:
    """A change of a file's lines.

    Attributes
    ----------
    id
        Made of the change itself, so that equal faults have one id, whatever they were drawn with.
    file
        The file's path from the root.
    line
        The first line that changes, counted from 1.
    kind
        One of `KINDS`.
    before
        The lines that change, without the last line's end.
    after
        What they become; when it is empty, the lines are removed.
    description
        What happens, in words.
    """

    id: str
    file: str
    line: int
    kind: str
    before: str
    after: str
    description: str

    @property
    def lines(self) -> range:
        """The numbers of the lines that change."""
        return range(self.line, self.line + 1 + self.before.count("\n"))


def changed(text: str, change: Change) -> str:
    """Return the text after a change."""
    return text[: change.start] + change.replacement + text[change.end :]


def fault_of(language: str, file: str, text: str, change: Change) -> Fault:
    """Record a change as lines, which a reader sees whole and which can be found again."""
    first = text.rfind("\n", 0, change.start) + 1
    last = text.find("\n", change.end)
    last = len(text) if last < 0 else last
    before = text[first:last]
    after = text[first : change.start] + change.replacement + text[change.end : last]
    line = text.count("\n", 0, first) + 1
    digest = hashlib.sha256(json.dumps([file, line, before, after]).encode()).hexdigest()
    return Fault(
        id=f"{language}-{digest[:8]}",
        file=file,
        line=line,
        kind=change.kind,
        before=before,
        after=after.rstrip(),
        description=change.description,
    )


def write_faults(faults: Iterable[Fault]) -> str:
    """Return faults as lines of JSON."""
    return "".join(json.dumps(asdict(fault), ensure_ascii=False) + "\n" for fault in faults)


def read_faults(path: Path) -> dict[str, Fault]:
    """Read the faults of a file by their ids, in the file's order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    faults = [Fault(**json.loads(line)) for line in lines if line.strip()]
    return {fault.id: fault for fault in faults}


def apply(fault: Fault, root: Path) -> None:
    """Put a fault into the tree at ``root``.

    Raises
    ------
    FaultError
        When the lines are not those that were recorded; nothing is written then.
    """
    path = root / fault.file
    lines = path.read_bytes().decode().split("\n")
    where = slice(fault.lines.start - 1, fault.lines.stop - 1)
    found = "\n".join(lines[where])
    if found != fault.before:
        raise FaultError(
            f"{fault.file}:{fault.line} is not as recorded, '{fault.id}' is not applied:\n"
            f"  found:    {found}\n  recorded: {fault.before}"
        )
    lines[where] = fault.after.split("\n") if fault.after else []
    path.write_bytes("\n".join(lines).encode())


def revert(fault: Fault, root: Path) -> None:
    """Take a fault out of the tree at ``root``: its file becomes what was last committed."""
    git(root, "checkout", "--quiet", "HEAD", "--", fault.file)


def git(root: Path, *arguments: str) -> bytes:
    """Run git in a tree and return what it prints."""
    # A hook's own repository is not meant.
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("GIT_")}
    result = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, capture_output=True, check=False
    )
    if result.returncode != 0:
        raise FaultError(f"git {arguments[0]}: {result.stderr.decode().strip()}")
    return result.stdout
