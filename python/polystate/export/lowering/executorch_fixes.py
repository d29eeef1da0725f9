"""Corrections of executorch 1.5.1 that hold while a program is lowered.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from executorch.backends.xnnpack._passes.fuse_batch_norm import FuseBatchNormPass
from executorch.backends.xnnpack.utils.utils import is_param_node
from executorch.exir.emit._emitter import _Emitter
from executorch.exir.program import _program
from executorch.exir.tensor import TensorSpec
from torch.export import ExportedProgram
from torch.fx import Node

from polystate.export.lowering.weight_keys import distinct_keys


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """All corrections, for the length of the block."""
    with (
        mock.patch.object(
            _program,
            "lift_constant_tensor_pass",
            _in_placeholder_order(_program.lift_constant_tensor_pass),
        ),
        distinct_keys(),
        mock.patch.object(
            _Emitter,
            "_tensor_spec_to_evalue",
            _with_state_apart(_Emitter._tensor_spec_to_evalue),
        ),
        mock.patch.object(
            FuseBatchNormPass,
            "can_fuse",
            staticmethod(_with_constants_alone(FuseBatchNormPass.can_fuse)),
        ),
    ):
        yield


def _in_placeholder_order(lift: Any) -> Any:
    """Sorts the specs of lifted constants as their placeholders are.

    In a method without inputs they come in another order. Such a program fails to verify
    (``SpecViolationError``), or would swap two constants.
    """

    def lift_in_order(program: ExportedProgram) -> ExportedProgram:
        program = lift(program)
        position = {
            node.name: i for i, node in enumerate(program.graph.nodes) if node.op == "placeholder"
        }
        program.graph_signature.input_specs.sort(key=lambda spec: position[spec.arg.name])
        return program

    return lift_in_order


def _with_state_apart(emit: Any) -> Any:
    """Finds the initial values of state among those of state.

    Equal bytes are stored once, state and constants each in a table of their own. State that has a
    name is looked up in the constants' table: where a constant has the same bytes, the state would
    get that index into its own table, and start with what some other state starts with.
    """

    def emit_with_state_apart(emitter: Any, spec: TensorSpec, *args: Any, **kwargs: Any) -> Any:
        if spec.mem_id is None or spec.mem_offset is None:
            return emit(emitter, spec, *args, **kwargs)
        emitted = emitter.program_state
        of_state = emitted.cached_spec_mutable_hash_values
        with mock.patch.object(emitted, "cached_spec_hash_values", of_state):
            return emit(emitter, spec, *args, **kwargs)

    return emit_with_state_apart


def _with_constants_alone(can_fuse: Any) -> Any:
    """Fuses a batch norm with what is before it where all that both compute with is constant.

    XNNPACK looks at the two weights alone. Statistics and biases that are state would be folded
    with the values that they have at the export, or the delegate would not be built.
    """

    def can_fuse_constants(before: Node, norm: Node, program: ExportedProgram, *rest: Any) -> bool:
        operands = [*before.args[1:3], *norm.args[1:5]]
        are_constant = all(
            each is None or (isinstance(each, Node) and is_param_node(program, each))
            for each in operands
        )
        return are_constant and bool(can_fuse(before, norm, program, *rest))

    return can_fuse_constants
