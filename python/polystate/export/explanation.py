"""What `explain` found, as text and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from polystate._core import render_html
from polystate.errors import IoError
from polystate.export.explanation_page import document
from polystate.export.inside import Inside
from polystate.export.rewriting.trial import Rewrite
from polystate.export.stages import Stage
from polystate.export.value_spots import ValueSpot
from polystate.export.whole_file import write_whole_file


@dataclass(frozen=True)
class Finding:
    """What became of one method on one backend.

    Attributes
    ----------
    stage
        Where it failed: "arguments", "trace", "state", "contract", "lowering", "operators",
        "memory" or "verification"; empty where it works.
    message
        What an export says of it; empty where it works.
    line
        The user's own line, with path and number; empty where it is not known.
    example
        The page of the example database; None where no page shows the problem.
    stages
        What each stage found.
    """

    method: str
    backend: str
    stage: str = ""
    message: str = ""
    line: str = ""
    example: str | None = None
    stages: tuple[Stage, ...] = ()

    @property
    def works(self) -> bool:
        """Whether the method is exported."""
        return not self.stage


@dataclass(frozen=True)
class Explanation:
    """What `explain` found.

    Attributes
    ----------
    findings
        One for each method and backend that was tried, in the order of the methods.
    together
        By backend, what an export of all methods says though each works by itself.
    seconds
        How long the exports for each backend took.
    rewrites
        By method, what was written instead and tried; without those that no rule fits.
    values
        By method that cannot be traced, the places at which the trace lacks values.
    seconds_beside
        How long the rewrites, and the search for places, took beside that.
    insides
        By method and backend, the graph and the memory of what works.
    """

    findings: tuple[Finding, ...]
    together: Mapping[str, str]
    seconds: Mapping[str, float]
    rewrites: Mapping[str, Rewrite] = field(default_factory=dict)
    values: Mapping[str, tuple[ValueSpot, ...]] = field(default_factory=dict)
    seconds_beside: Mapping[str, float] = field(default_factory=dict)
    insides: Mapping[str, Mapping[str, Inside]] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether some backend exports all methods."""
        return bool(self.backends())

    def backends(self, method: str | None = None) -> list[str]:
        """The backends that export a method, or, for None, all methods together."""
        found = [f for f in self.findings if method is None or f.method == method]
        tried = dict.fromkeys(finding.backend for finding in found)
        return [
            backend
            for backend in tried
            if all(finding.works for finding in found if finding.backend == backend)
            and not (method is None and backend in self.together)
        ]

    def to_json(self) -> str:
        """All of it as one JSON object."""
        return json.dumps(
            {
                "works": self.works,
                "backends": self.backends(),
                "findings": [{**asdict(f), "works": f.works} for f in self.findings],
                "together": dict(self.together),
                "rewrites": {name: asdict(each) for name, each in self.rewrites.items()},
                "values": {name: [asdict(s) for s in each] for name, each in self.values.items()},
                "seconds": _rounded(self.seconds),
                "seconds_beside": _rounded(self.seconds_beside),
            }
        )

    def __str__(self) -> str:
        lines = []
        for method in dict.fromkeys(finding.method for finding in self.findings):
            lines += [method, *self._told(method)]
            lines += _spots_told(self.values.get(method, ()))
            if method in self.rewrites:
                lines += _rewrite_told(self.rewrites[method])
            lines.append("")
        for backend, message in self.together.items():
            lines += [f"all methods together on {backend}", _indented(message, "    "), ""]
        took = ", ".join(f"{name} {each:.1f} s" for name, each in self.seconds_beside.items())
        lines += [f"beside the exports: {took}"] if took else []
        return "\n".join([*lines, self.conclusion()])

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Writes all of it, with pictures, as one page that needs no network and runs no script.

        Raises
        ------
        IoError
            When the file cannot be written. What stood at its path still does.
        """
        file = Path(path)
        page = render_html(json.dumps(document(self)))
        try:
            write_whole_file(file, page.encode())
        except OSError as error:
            raise IoError(
                error.errno, f"'{file}' cannot be written: {error.strerror or error}"
            ) from error
        return file

    def conclusion(self) -> str:
        """By which backends all methods can be exported."""
        if self.backends():
            return f"export it with backend={' or '.join(map(repr, self.backends()))}"
        return "no backend that was tried exports all methods"

    def _told(self, method: str) -> list[str]:
        """A method's lines; what several backends say alike is told once."""
        alike: dict[tuple[str, str, tuple[str, ...]], list[Finding]] = {}
        for finding in self.findings:
            if finding.method == method:
                noted = tuple(_noted(finding))
                alike.setdefault((finding.stage, finding.message, noted), []).append(finding)
        lines = []
        for (stage, message, noted), findings in alike.items():
            names = ", ".join(finding.backend for finding in findings)
            lines.append(f"  {names}: " + (f"fails at the {stage}" if stage else "works"))
            lines += [_indented(message, "    ")] if message else []
            lines += [f"    {each}" for each in noted]
            if findings[0].example:
                lines.append(f"    example: polystate explain {findings[0].example}")
        return lines


def _noted(finding: Finding) -> list[str]:
    """What is for the user to know of a method that works, by stages."""
    return [f"{stage.name}: {note}" for stage in finding.stages for note in stage.notes]


def _spots_told(spots: tuple[ValueSpot, ...]) -> list[str]:
    if len(spots) < 2:  # one is the line that the message has
        return []
    return ["  all places that need values:", *(f"    {s.line}: {s.told}" for s in spots)]


def _rewrite_told(rewrite: Rewrite) -> list[str]:
    lines = [f"  tried on {rewrite.backend}: {rewrite.told}"]
    lines += [f"    {change}" for change in rewrite.changes]
    return lines + ([_indented(rewrite.diff, "    ")] if rewrite.diff else [])


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(each, 3) for name, each in seconds.items()}


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.splitlines())
