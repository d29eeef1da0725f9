"""Draws faults from the sources of a tree: evenly from its parts, folders, files, and by kind."""

from __future__ import annotations

import fnmatch
import io
import random
import re
import tarfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tools.seed_faults import cpp_changes, python_changes
from tools.seed_faults.faults import KINDS, Change, Fault, FaultError, changed, fault_of, git

# The parts of each language that faults are drawn from, as regular expressions for the beginning of
# a file's path. A file is of the first that matches.
PARTS = {
    "cpp": (
        "src/kernels/",
        "src/runner/",
        "src/artifact/(contract|expression|manifest|method|operators|value_scan|names|unique)",
        "src/tokenizer/",
        "src/sampler/",
    ),
    "python": (
        "python/polystate/export/contract/",
        "python/polystate/export/graph/",
        "python/polystate/export/lowering/",
        "python/polystate/export/tracing/",
        "python/polystate/export/",
        "python/polystate/recipes/",
    ),
}
_CHANGES = {"cpp": cpp_changes.changes, "python": python_changes.changes}
_ENDINGS = {"cpp": (".h", ".cc"), "python": (".py",)}
# Loops for processors that are rare, and what only makes text.
EXCLUDED = (
    *("*neon*", "*_messages.*", "*/expression_text.*"),
    *("*/explain.py", "*/report.py", "*/debug.py", "*/descriptions.py"),
)

# A file and a change of it.
_Candidate = tuple[str, Change]


@dataclass(frozen=True)
class Sources:
    """The sources of a language, of which faults are drawn.

    Attributes
    ----------
    texts
        By the path from the root, in order.
    parts
        See `PARTS`.
    """

    language: str
    texts: dict[str, str]
    parts: Sequence[str]

    def is_fault(self, file: str, change: Change) -> bool:
        """Whether a file of Python still is one after a change, and another than before."""
        text = self.texts[file]
        return self.language != "python" or python_changes.differs(text, changed(text, change))


def read_sources(
    root: Path, language: str, parts: Sequence[str], excluded: Sequence[str]
) -> Sources:
    """Read the sources of the last commit, whatever lies in the tree."""

    def is_wanted(name: str) -> bool:
        return (
            name.endswith(_ENDINGS[language])
            and any(re.match(part, name) for part in parts)
            and not any(fnmatch.fnmatch(name, each) for each in excluded)
        )

    archive = io.BytesIO(git(root, "archive", "--format=tar", "HEAD"))
    texts = {}
    with tarfile.open(fileobj=archive) as files:
        for name in sorted(files.getnames()):
            file = files.extractfile(name) if is_wanted(name) else None
            if file is not None:
                texts[name] = file.read().decode()
    if not texts:
        raise FaultError(f"no {language} source of HEAD is in {', '.join(parts)}")
    return Sources(language, texts, parts)


def draw(sources: Sources, seed: int, count: int) -> list[Fault]:
    """Draw faults, at most one of a line.

    Parameters
    ----------
    seed
        Two draws with one seed from equal sources are equal, and of two counts the smaller gives
        the beginning of the larger.
    """
    rng = random.Random(seed)
    queues = _queues(sources, rng)
    kinds, parts = _rounds(KINDS, rng), _rounds(sources.parts, rng)
    taken: set[tuple[str, int]] = set()
    drawn: list[Fault] = []
    while len(drawn) < count and queues:
        kind = next(kinds)
        if not any(kind == other for _, other in queues):
            continue
        part = next(part for part in parts if (part, kind) in queues)
        file, change = queues[part, kind].popleft()
        if not queues[part, kind]:
            del queues[part, kind]
        fault = fault_of(sources.language, file, sources.texts[file], change)
        lines = {(file, line) for line in fault.lines}
        if taken.isdisjoint(lines) and sources.is_fault(file, change):
            drawn.append(fault)
            taken |= lines
    return drawn


def _queues(sources: Sources, rng: random.Random) -> dict[tuple[str, str], deque[_Candidate]]:
    """Put all changes of a part and a kind in an order, evenly by folder and by file."""
    groups: dict[tuple[str, str], dict[str, dict[str, list[_Candidate]]]] = {}
    for file, change in _CHANGES[sources.language](sources.texts):
        part = next(part for part in sources.parts if re.match(part, file))
        folders = groups.setdefault((part, change.kind), {})
        files = folders.setdefault(str(PurePath(file).parent), {})
        files.setdefault(file, []).append((file, change))
    queues = {}
    for key, folders in groups.items():
        for of_file in (of_file for files in folders.values() for of_file in files.values()):
            rng.shuffle(of_file)
        by_folder = [_evenly([*files.values()], rng) for files in folders.values()]
        queues[key] = deque(_evenly(by_folder, rng))
    return queues


def _evenly(groups: Sequence[Sequence[_Candidate]], rng: random.Random) -> list[_Candidate]:
    """Take from all groups in turn, in another order each round, until they are empty."""
    waiting = [deque(group) for group in groups if group]
    taken = []
    while waiting:
        rng.shuffle(waiting)
        taken += [group.popleft() for group in waiting]
        waiting = [group for group in waiting if group]
    return taken


def _rounds(items: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Give all items again and again, in another order each round."""
    while True:
        yield from rng.sample(items, len(items))
