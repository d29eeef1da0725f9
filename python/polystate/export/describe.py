"""Writes down what an export found, in the manifest's form."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass

import torch

import polystate
from polystate.artifact import manifest
from polystate.export.contract.contract import MethodContract
from polystate.export.graph.signature import read_buffers
from polystate.export.lowering.lowered import Lowered
from polystate.export.state import StateBuffer
from polystate.export.tracing.traced import Traced


@dataclass(frozen=True)
class Findings:
    """What the steps of an export found.

    Attributes
    ----------
    methods, contracts
        In the user's order, as many.
    """

    methods: Sequence[Traced]
    contracts: Sequence[MethodContract]
    state: Sequence[StateBuffer]
    lowered: Lowered


def describe(found: Findings, backend: str, quantization: str | None) -> manifest.Manifest:
    """The manifest of a lowered program, without constants, file sizes and recorded calls."""
    return manifest.Manifest(
        versions=_versions(),
        program=manifest.Program(
            engine=found.lowered.engine,
            file=found.lowered.file,
            backend=backend,
            quantization=quantization,
            operators=found.lowered.operators,
            delegates=found.lowered.delegates,
        ),
        files={},
        constants={},
        state=[_state(buffer) for buffer in found.state],
        methods=[
            _method(contract, traced, found)
            for traced, contract in zip(found.methods, found.contracts, strict=True)
        ],
    )


def _versions() -> dict[str, str]:
    return {
        "polystate": polystate.__version__,
        "torch": torch.__version__,
        "executorch": importlib.metadata.version("executorch"),
    }


def _state(buffer: StateBuffer) -> manifest.State:
    return manifest.State(
        name=buffer.name,
        dtype=buffer.dtype,
        shape=buffer.shape,
        initial="zeros" if buffer.zeros else "stored",
        preview=buffer.preview,
    )


def _method(contract: MethodContract, traced: Traced, found: Findings) -> manifest.Method:
    index = {buffer.name: i for i, buffer in enumerate(found.state)}
    updates = found.lowered.updates[traced.name]
    writes = [
        manifest.StateWrite(index[update.state], update.how, update.reason)
        for update in updates.updates
    ]
    return manifest.Method(
        name=traced.name,
        symbols=contract.symbols,
        inputs=contract.inputs,
        outputs=contract.outputs,
        guards=contract.guards,
        checks=contract.checks,
        reads=sorted(index[name] for name in read_buffers(traced.functional) if name in index),
        writes=sorted(writes, key=lambda write: write.state),
        atomic=updates.atomic,
        checks_first=updates.checks_first,
        activation_bytes=found.lowered.activation_bytes[traced.name],
    )
