"""Runs the finished program beside the module, and refuses it where it differs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.artifact import manifest, write_artifact
from polystate.errors import ContractError, EngineError, ExportError
from polystate.export.program_process import ProgramProcess
from polystate.export.tolerances import first_deviation
from polystate.export.tracing.eager import EagerModule, Outcome
from polystate.export.tracing.trace import Traced


def verify(
    eager: EagerModule,
    methods: Sequence[Traced],
    described: manifest.Manifest,
    files: Mapping[str, bytes],
) -> None:
    """Opens the program and, where calls were recorded, calls its methods as the module's.

    Each from the initial state at its example and at the corners of its ranges, then all in a row
    over one state, twice. What lowering and the kernels do is no part of torch.export's promises;
    this is where it is seen.

    Raises
    ------
    ExportError
        With the method, the sizes and the first value that differs, or what failed.
    """
    with tempfile.TemporaryDirectory(prefix="polystate-") as directory:
        artifact = Path(directory) / "artifact"
        write_artifact(artifact, described, files)
        with _opened(artifact) as program:
            if described.golden is None:
                return
            golden = described.golden
            tolerance = (golden.relative_tolerance, golden.absolute_tolerance)
            _compare(methods, _Twins(eager, program, tolerance))


def _opened(artifact: Path) -> ProgramProcess:
    try:
        return ProgramProcess(artifact)
    except EngineError as error:
        raise ExportError(f"the lowered program does not open: {error}") from error


def _compare(methods: Sequence[Traced], twins: _Twins) -> None:
    for method in methods:
        for number, point in enumerate(method.points()):
            twins.program.reset()
            with twins.eager.restored():
                twins.call(method, point, is_example=number == 0)
    twins.program.reset()
    with twins.eager.restored():
        for method in [*methods, *methods]:
            _, args, kwargs = method.points()[0]
            twins.call(method, ("after other calls", args, kwargs), is_example=False)


@dataclass(frozen=True)
class _Twins:
    """The module and the program, in the same state."""

    eager: EagerModule
    program: ProgramProcess
    tolerance: tuple[float, float]  # relative, absolute

    def call(self, method: Traced, point: tuple[str, Any, Any], *, is_example: bool) -> None:
        """Calls both, and refuses what differs; a call that only one of them takes runs on neither.

        The contract may exclude sizes and values, as the report says, but not the user's example.
        """
        where, args, kwargs = point
        before = self.eager.buffers()
        begin = time.monotonic()
        try:
            expected = self.eager.call(method.function, args, kwargs)
        except Exception:  # the module itself refuses these sizes or this state
            self.eager.set_buffers(before)
            return
        seconds = time.monotonic() - begin
        try:
            outputs, inputs = self.program.run(method.name, _tensors((args, kwargs)), seconds)
        except ContractError as error:
            if is_example:
                raise ExportError(
                    f"method '{method.name}': its contract refuses its own example: {error}"
                ) from error
            self.eager.set_buffers(before)
            return
        except EngineError as error:
            raise _backends_fault(method, where, f"the lowered program fails: {error}") from error
        found = Outcome(list(outputs), list(inputs), dict(self.program.state()))
        difference = self._difference(found, expected)
        if difference is not None:
            raise _backends_fault(method, where, difference)

    def _difference(self, found: Outcome, expected: Outcome) -> str | None:
        pairs = [
            *_numbered("output", found.outputs, _tensors(expected.outputs)),
            *_numbered("input", found.inputs, _tensors(expected.inputs)),
        ]
        pairs += [
            (f"state '{name}'", value, expected.buffers[name])
            for name, value in found.buffers.items()
        ]
        for label, value, wanted in pairs:
            deviation = first_deviation(value, wanted, self.tolerance)
            if deviation is not None:
                return f"{label} of the lowered program differs from the module's: {deviation}"
        return None


def _backends_fault(method: Traced, where: str, what: str) -> ExportError:
    return ExportError(
        f"method '{method.name}' {where}: {what}; the module itself runs there, so this is the "
        f"backend's: try another one, or other operators"
    )


def _numbered(
    kind: str, found: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]
) -> list[tuple[str, torch.Tensor, torch.Tensor]]:
    return [(f"{kind} {i}", *pair) for i, pair in enumerate(zip(found, wanted, strict=True))]


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
