"""`explain`: how far each method of a module gets on each backend, and what stops it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import torch

from polystate.errors import ContractError, Error
from polystate.export.diagnosis.refusals import without_example
from polystate.export.method import Method
from polystate.export.program import BACKENDS, Program, export
from polystate.export.verification.draws import Draws
from polystate.steps import told

# The stages of an export in their order, and how each step that is told of begins.
_STAGES = {
    "trace": "tracing",
    "state and contract": "finding state",
    "lowering": "lowering",
    "verification": "running",
}
_EARLIER = "arguments"  # what is checked before the first of them

# A line of the user's within a message: on a line of its own, or in parentheses.
_LINE = re.compile(
    r"^ *at (?P<own>.+:\d+: .*)$|\((?:at )?(?P<inside>[^\n(]+:\d+: .*?)\)(?=:| draws|, by|$)", re.M
)


@dataclass(frozen=True)
class Finding:
    """What became of one method on one backend.

    Attributes
    ----------
    stage
        Where it failed: "arguments", "trace", "state and contract", "lowering" or "verification";
        empty where it works.
    message
        What an export says of it; empty where it works.
    line
        The user's own line, with path and number; empty where it is not known.
    example
        The page of the example database; None where no page shows the problem.
    """

    method: str
    backend: str
    stage: str = ""
    message: str = ""
    line: str = ""
    example: str | None = None

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
        How long each backend took.
    """

    findings: tuple[Finding, ...]
    together: Mapping[str, str]
    seconds: Mapping[str, float]

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
                "seconds": {name: round(each, 3) for name, each in self.seconds.items()},
            }
        )

    def __str__(self) -> str:
        lines = []
        for method in dict.fromkeys(finding.method for finding in self.findings):
            lines += [method, *self._told(method), ""]
        for backend, message in self.together.items():
            lines += [f"all methods together on {backend}", _indented(message, "    "), ""]
        return "\n".join([*lines, self._conclusion()])

    def _told(self, method: str) -> list[str]:
        """A method's lines; what several backends say alike is told once."""
        alike: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            if finding.method == method:
                alike.setdefault((finding.stage, finding.message), []).append(finding)
        lines = []
        for (stage, message), findings in alike.items():
            names = ", ".join(finding.backend for finding in findings)
            lines.append(f"  {names}: " + (f"fails at the {stage}" if stage else "works"))
            lines += [_indented(message, "    ")] if message else []
            if findings[0].example:
                lines.append(f"    example: polystate explain {findings[0].example}")
        return lines

    def _conclusion(self) -> str:
        if self.backends():
            return f"export it with backend={' or '.join(map(repr, self.backends()))}"
        return "no backend that was tried exports all methods"


def explain(
    model: torch.nn.Module,
    methods: Mapping[str, Method],
    *,
    backends: Sequence[str] | None = None,
    draws: Draws | None = None,
) -> Explanation:
    """Tries how far each method gets on each backend, and says what stops it.

    It does not stop at the first problem: where the methods cannot be exported together, each is
    tried by itself.

    Parameters
    ----------
    model, methods
        As for ``export``.
    backends
        Those to try; None: "xnnpack" and "portable", and "aoti", which takes longest, where neither
        exports a method that PyTorch can trace.
    draws
        As for ``export``.

    Raises
    ------
    ContractError
        When there is no such backend, or `methods` is empty.
    """
    unknown = [backend for backend in backends or () if backend not in BACKENDS]
    if unknown or not methods:
        what = f"backend is {unknown[0]!r}" if unknown else "methods is empty"
        raise ContractError(f"{what}; backends are {', '.join(map(repr, BACKENDS))}")
    trial = _Trial(model, methods, draws)
    for backend in backends or ("xnnpack", "portable"):
        trial.run(backend)
    if backends is None and trial.needs_another():
        trial.run("aoti")
    order = list(methods)
    findings = sorted(trial.findings, key=lambda finding: order.index(finding.method))
    return Explanation(tuple(findings), trial.together, trial.seconds)


class _Trial:
    """Exports a module's methods by one backend after another."""

    def __init__(
        self, model: torch.nn.Module, methods: Mapping[str, Method], draws: Draws | None
    ) -> None:
        self._model, self._methods, self._draws = model, methods, draws
        self.findings: list[Finding] = []
        self.together: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def run(self, backend: str) -> None:
        """Exports all methods together; where that fails, each by itself."""
        started = time.monotonic()
        untraced = {f.method: f for f in self.findings if f.stage in (_EARLIER, "trace")}
        failure = None if untraced else self._failure(list(self._methods), backend)
        if failure is None and not untraced:
            self.findings += [Finding(name, backend) for name in self._methods]
        elif failure is not None and len(self._methods) == 1:
            self.findings.append(failure)
        else:
            self._run_each(backend, untraced, failure)
        self.seconds[backend] = time.monotonic() - started

    def _run_each(
        self, backend: str, untraced: Mapping[str, Finding], failure: Finding | None
    ) -> None:
        found = []
        for name in self._methods:
            known = untraced.get(name)  # a trace is the same for every backend
            if known is not None:
                found.append(
                    Finding(name, backend, known.stage, known.message, known.line, known.example)
                )
            else:
                found.append(self._failure([name], backend) or Finding(name, backend))
        self.findings += found
        if failure is not None and all(finding.works for finding in found):
            self.together[backend] = failure.message

    def needs_another(self) -> bool:
        """Whether a method that can be traced works nowhere."""
        traced = {f.method for f in self.findings if f.stage not in (_EARLIER, "trace")}
        working = {f.method for f in self.findings if f.works}
        return bool(traced - working)

    def _failure(self, names: Sequence[str], backend: str) -> Finding | None:
        """What stops these methods; None: nothing."""
        begun = ""

        def begin(step: str) -> None:
            nonlocal begun
            begun = step

        try:
            with told(begin):
                self._exported(names, backend)
        except Error as error:
            stages = (stage for stage, words in _STAGES.items() if begun.startswith(words))
            message = without_example(error)
            line = _LINE.search(message)
            told_line = (line["own"] or line["inside"]) if line else ""
            return Finding(
                method=names[0],
                backend=backend,
                stage=next(stages, _EARLIER),
                message=message,
                line=told_line,
                example=error.example,
            )
        return None

    def _exported(self, names: Sequence[str], backend: str) -> Program:
        methods = {name: self._methods[name] for name in names}
        return export(self._model, methods, backend=backend, draws=self._draws)


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.splitlines())
