"""`compare`: a model and its artifact, stage by stage and layer by layer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from polystate.artifact import Manifest, write_temporary_artifact
from polystate.export.arguments import check_arguments
from polystate.export.comparing.calls import Calls
from polystate.export.comparing.fit import check_fit, check_state, methods_of
from polystate.export.comparing.found import Comparison
from polystate.export.comparing.runs import EagerRun, run_eagerly
from polystate.export.comparing.stages import make_stages
from polystate.export.diagnosis.refusals import told_plainly
from polystate.export.method import Method, resolve
from polystate.export.program import prepare
from polystate.export.surroundings import surroundings
from polystate.export.tracing.eager import EagerModule
from polystate.export.verification.outcomes import tensors
from polystate.export.verification.program_process import ProgramProcess
from polystate.runtime import load

__all__ = ["Comparison", "compare"]


def compare(
    model: nn.Module,
    artifact: str | os.PathLike[str],
    inputs: Mapping[str, Method | Sequence[Any]],
    *,
    trust_code: bool = False,
) -> Comparison:
    """Compares a model with its artifact, layer by layer, at each stage of an export.

    Each method is called once, in the order of `inputs`, from the state that the model has after
    the calls before. Eager PyTorch is what all else is compared with: the exported graph, the
    lowered one, and the finished program. Results and state of that are the artifact's own; its
    layers are those of a program that is exported again with the values between layers as results,
    with the weights that the artifact has.

    Parameters
    ----------
    model
        The module that the artifact was exported from, which stays as it is. Where it is another
        one by now, or has other weights, the comparison shows where that begins to matter.
    artifact
        The artifact's directory.
    inputs
        For each of its methods the positional arguments, of sizes within the contract; or a
        ``Method``, for keyword arguments and for targets that are no methods of the model.
    trust_code
        Whether an artifact for ``"aoti"`` may run its machine code here (``ps.load``).

    Returns
    -------
    Comparison
        With the first value that is off by more than rounding explains, its layer and the user's
        line; as text by ``str``, and as JSON.

    Raises
    ------
    ContractError
        When the model does not fit the artifact: other methods, inputs or state; and for inputs
        that the contract refuses.
    ArtifactError
        When the artifact is damaged, or has machine code that is not trusted.
    ExportError, UnsupportedError
        When the model cannot be exported again, as ``export`` says.
    EngineError
        When the artifact's program fails.
    IoError
        When a file cannot be read or written.
    """
    described = Manifest.from_json(load(artifact, trust_code=trust_code).manifest)
    path = Path(artifact)
    methods = methods_of(model, described, inputs)
    backend, quantization = described.program.backend, described.program.quantization
    check_arguments(model, methods, backend)
    check_state(model, described)
    with ProgramProcess(path) as own, told_plainly():
        calls = {name: methods[name] for name in inputs}
        _call_all(own, calls)  # which refuses what is not within the contract
        floats = _in_floats(model, calls) if quantization is not None else {}
        with surroundings(model, quantization):
            prepared = prepare(model, methods, backend, {}, at_corners=False)
            check_fit(prepared.traced, prepared.contracts, prepared.state, described)
            stages = make_stages(
                prepared.traced, prepared.contracts, prepared.state, path, described
            )
            with tempfile.TemporaryDirectory(prefix="polystate-") as folder:
                again = Path(folder)
                write_temporary_artifact(again, stages.finished.described, stages.finished.files)
                with ProgramProcess(again) as finished:
                    traced = {each.name: each for each in prepared.traced}
                    eager, state = prepared.eager, prepared.state
                    side_by_side = Calls(
                        eager, traced, state, described, stages, own, finished, floats
                    )
                    return side_by_side.compared(list(calls))


def _call_all(program: ProgramProcess, methods: Mapping[str, Method]) -> None:
    """Calls methods in a row, and puts the state back."""
    for name, method in methods.items():
        program.run(name, tensors(method.examples()))
    program.reset()


def _in_floats(model: nn.Module, methods: Mapping[str, Method]) -> dict[str, EagerRun]:
    """What the methods do before anything is quantized, in a row."""
    found = {}
    with surroundings(model, None):
        eager = EagerModule(model)
        with eager.restored():
            for name, method in methods.items():
                args, kwargs = method.examples()
                found[name] = run_eagerly(eager, resolve(model, name, method), args, kwargs)
    return found
