"""Exports modules by the hundreds, compares each with PyTorch, and keeps what came of it."""

from __future__ import annotations

import argparse
import copy
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import nn

import polystate as ps
from polystate.export.verification.outcomes import tensors
from polystate.export.verification.program_process import ProgramEndedError, ProgramProcess
from polystate.export.verification.rounding import Rounding
from polystate.export.verification.tolerances import deviating, first_deviation
from polystate.export.verification.twins import EndedProgramError, WrongProgramError
from tests.end_to_end.twins import changed_buffers

_T = TypeVar("_T")

_TOLERANCE = (1e-4, 2e-5)  # relative, absolute

# What an export verifies itself with; it would take calls for two seconds, of a module that
# takes one to export.
_DRAWS = ps.Draws(count=8)

_LONGEST = 900  # seconds of a trial: some of PyTorch's own calls do not come back

EQUAL, REFUSED, DIFFERENT, DIED, UNTYPED = "equal", "refused", "different", "died", "untyped"

# Nothing can be called.
NOTHING = "nothing to try"

# Other roundings of the module's operators give as different a result.
LEFT_OUT = "left out"
_ROUNDINGS = 16
_FACTOR = 8  # other kernels may be off by this many times what these roundings showed


class Tried(Protocol):
    """What is tried on a backend."""

    @property
    def name(self) -> str:
        """What its result is kept by."""

    def outcome(self, backend: str) -> tuple[str, str]:
        """What came of it, and what was told of it."""


@dataclass(frozen=True)
class Trial:
    """A module with methods, each with calls that are compared; the first one is its example."""

    name: str
    model: nn.Module
    calls: Mapping[str, Sequence[tuple[torch.Tensor, ...]]]
    dynamic_shapes: Mapping[str, Any] = field(default_factory=dict)

    def outcome(self, backend: str) -> tuple[str, str]:
        """What came of it, and what was told of it."""
        return outcome(self, backend)


def outcome(trial: Trial, backend: str) -> tuple[str, str]:
    """What came of a trial, and what was told of it."""
    methods = {
        name: ps.Method(name, calls[0], dynamic_shapes=trial.dynamic_shapes.get(name))
        for name, calls in trial.calls.items()
    }
    try:
        program = ps.export(trial.model, methods, backend=backend, draws=_DRAWS)
    except EndedProgramError as error:
        return DIED, str(error)
    except WrongProgramError as error:  # a program must be right; that an export sees it is luck
        return DIFFERENT, str(error)
    except ps.Error as error:
        return REFUSED, f"{type(error).__name__}: {error}"
    except Exception as error:
        return UNTYPED, f"{type(error).__name__}: {error}"
    with tempfile.TemporaryDirectory() as directory:
        artifact = program.save(Path(directory) / "artifact")
        with ProgramProcess(artifact) as session:
            return _compared(trial, session)


def _compared(trial: Trial, session: ProgramProcess) -> tuple[str, str]:
    eager = copy.deepcopy(trial.model)
    for name, calls in trial.calls.items():
        for number, args in enumerate(calls):
            with torch.no_grad():
                expected = tensors(getattr(eager, name)(*(arg.clone() for arg in args)))
            try:
                found, _ = session.run(name, args)
            except ProgramEndedError as error:
                return DIED, f"{name}, call {number}: {error}"
            except ps.Error as error:
                return DIFFERENT, f"{name}, call {number}: {error}"
            state = session.state()
            others = changed_buffers(trial.model, eager) - state.keys()
            if others:
                return DIFFERENT, f"{name}, call {number}: no state, but changed: {sorted(others)}"
            results = [*found, *state.values()]
            wanted = [*expected, *_states(eager, state)]
            for place, (value, right) in enumerate(zip(results, wanted, strict=True)):
                deviation = first_deviation(value, right, _TOLERANCE)
                if deviation is None:
                    continue
                others = (otherwise[place] for otherwise in _rounded(trial, name, number, state))
                is_rounding = _reaches(others, value, right)
                return LEFT_OUT if is_rounding else DIFFERENT, f"{name}, call {number}: {deviation}"
    return EQUAL, ""


def _states(model: nn.Module, names: Iterable[str]) -> list[torch.Tensor]:
    buffers = dict(model.named_buffers())
    return [buffers[name] for name in names]


def _rounded(
    trial: Trial, method: str, last: int, states: Iterable[str]
) -> Iterator[list[torch.Tensor]]:
    """Results and states after a call, where the operators of that and earlier ones round
    otherwise."""
    for seed in range(_ROUNDINGS):
        model = copy.deepcopy(trial.model)
        for name, calls in trial.calls.items():
            for number, args in enumerate(calls):
                with torch.no_grad(), Rounding(seed):
                    results = tensors(getattr(model, name)(*(arg.clone() for arg in args)))
                if (name, number) == (method, last):
                    break
            if name == method:
                break
        yield [*results, *_states(model, states)]


def _reaches(others: Iterable[torch.Tensor], value: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether other roundings move each element that is off about as far."""
    off = (value.double() - right.double()).abs()
    moved = torch.zeros_like(off)
    for other in others:
        moved = torch.maximum(moved, (other.double() - right.double()).abs())
    return bool((~deviating(value, right, _TOLERANCE) | (off <= _FACTOR * moved)).all())


@dataclass(frozen=True)
class Result:
    """A line of the file of results."""

    name: str
    outcome: str
    told: str
    seconds: float


def run_all(
    trials: Iterable[tuple[str, Callable[[], Tried | None]]],
    backend: str,
    seconds: float,
    keep: Callable[[Result], None],
) -> list[Result]:
    """Tries modules until the time is over."""
    results = []
    deadline = time.monotonic() + seconds
    for name, made in trials:
        if time.monotonic() >= deadline:
            break
        begin = time.monotonic()
        trial = made()
        if trial is not None:
            what, told = trial.outcome(backend)
            results.append(Result(name, what, told[:400], round(time.monotonic() - begin, 2)))
            keep(results[-1])
    return results


def counts(results: Iterable[Result]) -> str:
    """How many trials came to what."""
    found = Counter(result.outcome for result in results)
    return ", ".join(f"{number} {what}" for what, number in found.most_common())


class ResultFile:
    """Results as lines of JSON, so that a run goes on where one ended, even one that died."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, name: str) -> None:
        """Notes what is being tried."""
        self._add({"name": name})

    def add(self, result: Result) -> None:
        """Notes what came of it."""
        self._add(vars(result))

    def _add(self, line: dict[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def read(self) -> dict[str, Result]:
        """All results; what was begun and has none ended its process."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        results = {}
        for line in map(json.loads, lines):
            fields = {"outcome": DIED, "told": "the exporting process ended", "seconds": 0.0}
            results[line["name"]] = Result(**{**fields, **line})
        return results


def trial_parser(description: str | None) -> argparse.ArgumentParser:
    """Read the arguments that all commands have which try modules."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def _in_time(made: Iterable[_T]) -> Iterator[_T]:
    """Ends the process where what comes next is not made, or what is made not tried, in time."""
    signal.alarm(_LONGEST)
    for each in made:
        signal.alarm(_LONGEST)
        yield each
        signal.alarm(_LONGEST)


def run_resumable(
    module: str,
    trials: Callable[[], Iterable[tuple[str, Callable[[], Tried | None]]]],
    options: argparse.Namespace,
) -> None:
    """Tries all that have no result yet in a process that may end; prints the counts.

    Parameters
    ----------
    module
        The module to run for that, with the same arguments and ``--worker``.
    options
        Those of `trial_parser`.
    """
    file = ResultFile(options.results)
    if not options.worker:
        command = [sys.executable, "-m", module, *sys.argv[1:], "--worker"]
        before = -1
        while subprocess.run(command).returncode != 0:
            if len(file.read()) == before:
                raise RuntimeError(
                    "a process ended before it tried a module: see its message above"
                )
            before = len(file.read())
        results = file.read().values()
        for result in results:
            if result.outcome not in (EQUAL, REFUSED, LEFT_OUT, NOTHING):
                print(result)
        print(f"{options.backend}: {counts(results)}")
        return
    done = file.read()

    def begun(name: str, make: Callable[[], Tried | None]) -> Callable[[], Tried | None]:
        def begin() -> Tried | None:
            file.begin(name)  # before it is made: even that may end the process
            trial = make()
            if trial is None:
                file.add(Result(name, NOTHING, "", 0.0))
            return trial

        return begin

    made = _in_time(trials())
    left = ((name, begun(name, make)) for name, make in made if name not in done)
    run_all(left, options.backend, float("inf"), file.add)
