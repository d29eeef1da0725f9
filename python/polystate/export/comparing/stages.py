"""The programs of an artifact's methods at each stage, with what leaves each layer as results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.export import ExportedProgram

from polystate.artifact import FileContent
from polystate.artifact.manifest import Manifest, Method, Output
from polystate.export.comparing.constants import with_constants_of
from polystate.export.comparing.values import Value, values_between_layers, with_results
from polystate.export.contract.contract import MethodContract
from polystate.export.describe import Findings, describe
from polystate.export.graph.signature import mutated_arguments, results
from polystate.export.lowering.inductor import compile_methods, stored_constants
from polystate.export.lowering.lower import lower, undelegated
from polystate.export.lowering.lowered import Lowered
from polystate.export.lowering.passes import Passes
from polystate.export.lowering.rewrites import Form, rewrite_program
from polystate.export.state import StateBuffer, dtype_name
from polystate.export.tracing.traced import Traced
from polystate.export.verification.verify import Finished


@dataclass(frozen=True)
class Stages:
    """What an export makes of methods on the way, made again.

    Attributes
    ----------
    values
        What is compared of each method, in the order in which it is computed.
    lowered
        The functional programs after the backend's passes, which return these values last.
    finished
        The program that the engine runs, whose methods return them last, with the weights of the
        artifact where these could be found.
    notes
        What a reader of a comparison should know.
    """

    values: Mapping[str, Sequence[Value]]
    lowered: Mapping[str, ExportedProgram]
    finished: Finished
    notes: Sequence[str]


def make_stages(
    traced: Sequence[Traced],
    contracts: Sequence[MethodContract],
    state: Sequence[StateBuffer],
    artifact: Path,
    manifest: Manifest,
) -> Stages:
    """Lowers methods as those of an artifact were, with the values between layers as results.

    Raises
    ------
    ExportError, UnsupportedError
        As ``export``.
    """
    programs = {each.name: each.functional for each in traced}
    values = {name: values_between_layers(program) for name, program in programs.items()}

    def copies(with_values: bool) -> dict[str, ExportedProgram]:
        return {
            name: with_results(program, [v.node for v in values[name]] if with_values else [])
            for name, program in programs.items()
        }

    notes: list[str] = []
    file = artifact / manifest.program.file
    backend = manifest.program.backend
    if backend == "aoti":
        stage = copies(with_values=True)
        for name, program in stage.items():
            rewrite_program(name, program, Form.FUNCTIONAL, backend, [s.name for s in state])
        constants = stored_constants(file)
        lowered = compile_methods(
            copies(with_values=True), state, Passes(), constants_of=lambda n: constants.get(n, {})
        )
        content = _bytes_of(lowered)
    else:
        stage = undelegated(copies(with_values=True), state, backend)
        lowered = lower(copies(with_values=True), state, backend, Passes())
        now = lower(copies(with_values=False), state, backend, Passes())
        content, notes = _of_artifact(file.read_bytes(), _bytes_of(now), _bytes_of(lowered))
    described = describe(
        Findings(traced, contracts, state, lowered), backend, manifest.program.quantization
    )
    methods = [_with_values(m, programs[m.name], values[m.name]) for m in described.methods]
    finished = Finished(dataclasses.replace(described, methods=methods), {lowered.file: content})
    return Stages(values, stage, finished, notes)


def _of_artifact(artifact: bytes, now: bytes, program: bytes) -> tuple[bytes, list[str]]:
    """A program with the artifact's weights, and what is to be said of them."""
    replaced = with_constants_of(artifact, now, program)
    if replaced is None:
        return program, [
            "the model is exported to another program now than the artifact has: its layers are "
            "shown as they are exported now, results and state as the artifact gives them"
        ]
    notes = []
    if replaced.changed:
        what = f"{replaced.changed} constants of the artifact differ"
        if replaced.changed == 1:
            what = "1 constant of the artifact differs"
        notes.append(f"{what} from what the model gives now")
    if not replaced.is_whole:
        notes.append(
            "not all of them are told apart by their bytes: some layers are shown with the weights "
            "that the model has now"
        )
    return replaced.content, notes


def _with_values(method: Method, program: ExportedProgram, values: Sequence[Value]) -> Method:
    first = len(mutated_arguments(program)) + _user_outputs(program)
    tensors = {node.name: node.meta["val"] for node in program.graph.nodes if "val" in node.meta}
    more = [
        Output(
            name=f"values.{value.node}",
            dtype=dtype_name(tensors[value.node].dtype),
            shape=[size if isinstance(size, int) else None for size in tensors[value.node].shape],
            program_output=first + number,
        )
        for number, value in enumerate(values)
    ]
    return dataclasses.replace(method, outputs=[*method.outputs, *more])


def _user_outputs(program: ExportedProgram) -> int:
    """How many results a method has, those that are no tensors included."""
    return len(program.graph_signature.user_outputs)


def _bytes_of(lowered: Lowered) -> bytes:
    content: FileContent = lowered.content
    return b"".join(content.chunks())


def result_nodes(program: ExportedProgram) -> list[torch.fx.Node]:
    """The nodes that compute a method's results, in the manifest's order."""
    return [result.node for result in results(program)]
