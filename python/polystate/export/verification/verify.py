"""Runs the finished program beside the module, and refuses it where it differs."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polystate.artifact import (
    FileContent,
    GoldenCall,
    golden_npz,
    manifest,
    write_temporary_artifact,
)
from polystate.errors import ArtifactError, EngineError, ExportError
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.traced import Traced
from polystate.export.verification.drawn_calls import DrawnCalls, Tally
from polystate.export.verification.draws import Draws
from polystate.export.verification.golden import record
from polystate.export.verification.precision import narrowest_widths
from polystate.export.verification.program_process import ProgramEndedError, ProgramProcess
from polystate.export.verification.tolerances import (
    Tolerance,
    tolerances,
    tolerances_by_type,
    widest,
)
from polystate.export.verification.twins import Call, EndedProgramError, Twins

_GOLDEN_FILE = "golden.npz"

# Calls with drawn values take this part of an export, or these seconds.
_PART = 0.1
_SECONDS = 2.0


@dataclass(frozen=True)
class Finished:
    """A program as it will be written."""

    described: manifest.Manifest
    files: Mapping[str, bytes | FileContent]


@dataclass(frozen=True)
class Verification:
    """How a program was shown to do what its module does.

    Attributes
    ----------
    draws
        The seed and the number of the drawn calls; given to ``export``, they make the same again.
    tallies
        What came of them, by method.
    part
        Of what module they were calls, in words; empty: of the one that was exported.
    """

    draws: Draws
    tallies: Mapping[str, Tally]
    _golden: Sequence[tuple[str, GoldenCall]]
    _tolerance: Tolerance
    part: str = ""

    @property
    def recorded_calls(self) -> Sequence[tuple[str, GoldenCall]]:
        """Calls and what they gave, in their order from the initial state on."""
        return self._golden

    def with_drawn_calls(self, other: Verification, part: str) -> Verification:
        """With those of a module that is a part of this one."""
        return dataclasses.replace(self, draws=other.draws, tallies=other.tallies, part=part)

    def recorded(self, finished: Finished) -> Finished:
        """The program with the calls that `polystate doctor` replays."""
        names = [name for name, _ in self._golden]
        golden = manifest.Golden(_GOLDEN_FILE, names, *self._tolerance)
        described = dataclasses.replace(finished.described, golden=golden)
        calls = golden_npz([call for _, call in self._golden], described.to_json()["methods"])
        return Finished(described, {**finished.files, _GOLDEN_FILE: calls})


def open_only(finished: Finished) -> None:
    """Opens the program, where the module is no reference for it; ExportError when that fails."""
    with (
        tempfile.TemporaryDirectory(prefix="polystate-") as directory,
        _opened(finished, Path(directory), {}),
    ):
        pass


def verify(
    eager: EagerModule,
    methods: Sequence[Traced],
    finished: Finished,
    draws: Draws,
    seconds: float,
) -> Verification:
    """Opens the program, and calls its methods as the module's.

    Each from the initial state at its example; then those calls that are recorded, in a row over
    one state; then drawn ones, at the corners of the ranges first. Where none are to be drawn, the
    examples are called in a row alone. What lowering and the kernels do is no part of
    torch.export's promises; this is where it is seen.

    Parameters
    ----------
    seconds
        What the export has taken until now.

    Raises
    ------
    ExportError
        With the method, the sizes and the first value that differs, or what failed.
    """
    quantization = finished.described.program.quantization
    tolerance = tolerances_by_type(narrowest_widths(methods), quantization)
    with (
        tempfile.TemporaryDirectory(prefix="polystate-") as directory,
        _opened(finished, Path(directory), _leading(eager, finished.described)) as program,
    ):
        twins = Twins(eager, program, finished.described, tolerance)
        are_drawn = draws.count != 0
        for method in methods if are_drawn else ():
            call = Call(method, "at its example", method.args, method.kwargs)
            with twins.from_initial_state():
                twins.call_example(call, is_given=True)
        drawn = DrawnCalls(twins, methods, draws)
        with twins.from_initial_state():
            examples = [Call(m, "after other calls", m.args, m.kwargs) for m in methods]
            golden = record(twins, examples, drawn.golden if are_drawn else None)
        made, tallies = drawn.run(max(_SECONDS, _PART * seconds))
    return Verification(made, tallies, golden, widest(tolerance))


def tolerance_of(described: manifest.Manifest) -> Tolerance:
    """How far results of a program may be off, whatever their types."""
    dtypes = {state.dtype for state in described.state}
    for method in described.methods:
        dtypes |= {tensor.dtype for tensor in method.inputs}
        dtypes |= {tensor.dtype for tensor in method.outputs}
    return tolerances(dtypes, described.program.quantization)


def _leading(eager: EagerModule, described: manifest.Manifest) -> dict[str, int]:
    """Of states that are larger in the program, how much of them the module has."""
    sizes = {state.name: len(eager.initial(state.name)) for state in described.state if state.shape}
    return {
        state.name: sizes[state.name]
        for state in described.state
        if state.shape and state.shape[0] != sizes[state.name]
    }


def _opened(finished: Finished, directory: Path, leading: Mapping[str, int]) -> ProgramProcess:
    write_temporary_artifact(directory, finished.described, finished.files)
    try:
        return ProgramProcess(directory, leading)
    except ProgramEndedError as error:
        raise EndedProgramError(f"the lowered program does not open: {error}") from error
    except (ArtifactError, EngineError) as error:
        raise ExportError(f"the lowered program does not open: {error}") from error
