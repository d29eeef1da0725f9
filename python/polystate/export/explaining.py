"""`explain`: how far each method of a module gets on each backend, what stops it, what helps."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence

import torch

from polystate.errors import ContractError, Error
from polystate.export.arguments import BACKENDS
from polystate.export.diagnosis.lines import is_users, line_at
from polystate.export.diagnosis.refusals import without_example
from polystate.export.explanation import Explanation, Finding
from polystate.export.inside import Inside, inside_of
from polystate.export.lowering.planned_graph import parts_kept
from polystate.export.method import Method
from polystate.export.program import Program, export
from polystate.export.rewriting.spots import Problem
from polystate.export.rewriting.trial import Rewrite, try_rewrites
from polystate.export.stages import stage_of, stages_of, stages_until, step_stage
from polystate.export.surroundings import alone
from polystate.export.value_spots import ValueSpot, value_spots
from polystate.export.verification.draws import Draws
from polystate.steps import told

# Where a method fails in every backend alike.
_BEFORE_LOWERING = ("arguments", "trace", "state")

# A line of the user's within a message: on a line of its own, or in parentheses.
_LINE = re.compile(
    r"^ *at (?P<own>.+:\d+: .*)$"
    r"|\((?:at )?(?P<inside>[^\n(]+:\d+: .*?)\)(?=[:;]| draws|, by|$)",
    re.M,
)


def explain(
    model: torch.nn.Module,
    methods: Mapping[str, Method],
    *,
    backends: Sequence[str] | None = None,
    draws: Draws | None = None,
    rewrites: bool = True,
    called_at: str | None = None,
) -> Explanation:
    """Tries how far each method gets on each backend, says what stops it, and tries rewrites.

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
    rewrites
        Whether other code is written where that is known, and tried: exported, and compared with
        the module. No file is changed.
    called_at
        The line that asks for the export, ``path:number: text``; None: the caller's.

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
    beside = _Beside(trial, _calling_line() if called_at is None else called_at)
    beside.find_values()
    if rewrites:
        beside.rewrite()
    order = list(methods)
    findings = sorted(trial.findings, key=lambda finding: order.index(finding.method))
    return Explanation(
        tuple(findings),
        trial.together,
        trial.seconds,
        rewrites=beside.rewrites,
        values=beside.values,
        seconds_beside=beside.seconds,
        insides={name: trial.insides.get(name, {}) for name in methods},
    )


def _calling_line() -> str:
    """The innermost line of the user's that is running."""
    frame = sys._getframe()
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return line_at(frame.f_code.co_filename, frame.f_lineno)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""


class _Trial:
    """Exports a module's methods by one backend after another."""

    def __init__(
        self, model: torch.nn.Module, methods: Mapping[str, Method], draws: Draws | None
    ) -> None:
        self.model, self.methods, self._draws = model, methods, draws
        self.findings: list[Finding] = []
        self.together: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.insides: dict[str, dict[str, Inside]] = {}

    def run(self, backend: str) -> None:
        """Exports all methods together; where that fails, each by itself."""
        started = time.monotonic()
        untraced = {f.method: f for f in self.findings if f.stage in _BEFORE_LOWERING}
        together = None if untraced else self._findings(list(self.methods), backend)
        if together is not None and (len(self.methods) == 1 or together[0].works):
            self.findings += together
        else:
            self._run_each(backend, untraced, together)
        self.seconds[backend] = time.monotonic() - started

    def _run_each(
        self, backend: str, untraced: Mapping[str, Finding], together: list[Finding] | None
    ) -> None:
        found = []
        for name in self.methods:
            known = untraced.get(name)  # a trace is the same for every backend
            if known is not None:
                found.append(
                    Finding(
                        name,
                        backend,
                        known.stage,
                        known.message,
                        known.line,
                        known.example,
                        known.stages,
                    )
                )
            else:
                found += self._findings([name], backend)
        self.findings += found
        if together is not None and all(finding.works for finding in found):
            self.together[backend] = together[0].message

    def needs_another(self) -> bool:
        """Whether a method that can be traced works nowhere."""
        traced = {f.method for f in self.findings if f.stage not in _BEFORE_LOWERING}
        working = {f.method for f in self.findings if f.works}
        return bool(traced - working)

    def _findings(self, names: Sequence[str], backend: str) -> list[Finding]:
        """What becomes of methods that are exported together; one alone where that fails."""
        clock = _Clock()
        methods = {name: self.methods[name] for name in names}
        result = self.exported(self.model, methods, backend, clock)
        if isinstance(result, Program):
            for name in names:
                self.insides.setdefault(name, {})[backend] = inside_of(result, name)
            return [
                Finding(name, backend, stages=stages_of(result, name, clock.of(name, len(names))))
                for name in names
            ]
        stage = stage_of(clock.step, result.example)
        return [
            Finding(
                method=names[0],
                backend=backend,
                stage=stage,
                message=result.message,
                line=result.line,
                example=result.example,
                stages=stages_until(stage, result.message, clock.of(names[0], len(names))),
            )
        ]

    def exported(
        self,
        model: torch.nn.Module,
        methods: Mapping[str, Method],
        backend: str,
        clock: _Clock | None = None,
    ) -> Program | Problem:
        """A program, or what stops its export."""
        clock = clock or _Clock()
        try:
            with told(clock.begin), parts_kept():
                return export(model, methods, backend=backend, draws=self._draws)
        except Error as error:
            message = without_example(error)
            line = _LINE.search(message)
            told_line = (line["own"] or line["inside"]) if line else ""
            return Problem(message, told_line, error.example)
        finally:
            clock.end()


class _Clock:
    """How long the steps of an export take."""

    def __init__(self) -> None:
        self.step = ""
        self._since = time.monotonic()
        self._seconds: dict[str, float] = {}

    def begin(self, step: str) -> None:
        """A step begins."""
        self.end()
        self.step = step

    def end(self) -> None:
        """The step ends."""
        now = time.monotonic()
        self._seconds[self.step] = self._seconds.get(self.step, 0.0) + now - self._since
        self._since = now

    def of(self, method: str, methods: int) -> dict[str, float]:
        """The seconds of a method's stages: of what several methods share, none."""
        seconds = {}
        for step, each in self._seconds.items():
            stage = step_stage(step)
            if f"'{method}'" in step if stage == "trace" else methods == 1:
                seconds[stage] = round(each, 3)
        return seconds


class _Beside:
    """What is found out beside the exports: all places that need values, and rewrites."""

    def __init__(self, trial: _Trial, called_at: str) -> None:
        self._trial = trial
        self._called_at = called_at
        self.rewrites: dict[str, Rewrite] = {}
        self.values: dict[str, tuple[ValueSpot, ...]] = {}
        self.seconds: dict[str, float] = {}

    def find_values(self) -> None:
        """Finds all places of the methods that cannot be traced."""
        with alone():
            started = time.monotonic()
            for finding in self._first_failures():
                if finding.stage == "trace":
                    method = self._trial.methods[finding.method]
                    spots = value_spots(self._trial.model, finding.method, method)
                    if spots:
                        self.values[finding.method] = spots
                    self.seconds["places that need values"] = time.monotonic() - started

    def rewrite(self) -> None:
        """Tries rewrites of the methods that no backend exports."""
        for finding in self._first_failures():
            problem = Problem(finding.message, finding.line, finding.example, self._called_at)
            methods = {finding.method: self._trial.methods[finding.method]}
            with alone():  # both modules are run, and the user's is copied
                started = time.monotonic()
                rewrite = try_rewrites(
                    self._trial.model, methods, problem, finding.backend, self._trial.exported
                )
                seconds = time.monotonic() - started
            if rewrite is not None:
                self.rewrites[finding.method] = rewrite
                self.seconds["rewrites"] = self.seconds.get("rewrites", 0.0) + seconds

    def _first_failures(self) -> list[Finding]:
        """Of each method that works nowhere, what the first backend says."""
        working = {f.method for f in self._trial.findings if f.works}
        failures: dict[str, Finding] = {}
        for finding in self._trial.findings:
            if finding.method not in working:
                failures.setdefault(finding.method, finding)
        return list(failures.values())
