"""Corrections of what XNNPACK's passes make of a delegate's graph.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any
from unittest import mock

from executorch.backends.xnnpack._passes import decompose_batch_norm, fuse_batch_norm
from executorch.backends.xnnpack._passes.channels_last_tagged_reshape_pass import (
    ChannelsLastTaggedReshapePass,
)
from executorch.backends.xnnpack._passes.decompose_batch_norm import DecomposeBatchNorm
from executorch.backends.xnnpack._passes.fuse_activation_pass import FuseActivationPass
from executorch.backends.xnnpack._passes.fuse_batch_norm import FuseBatchNormPass
from executorch.backends.xnnpack.serialization.xnnpack_graph_schema import OutputMinMax
from executorch.backends.xnnpack.utils.utils import is_param_node
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

# Operators that read their operands' last dimension, where the layout with channels last has the
# channels; XNNPACK's own list has others. Those that take a dimension by its number find it there.
_OF_THE_LAST_DIMENSION = {exir_ops.edge.aten._softmax.default}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """All corrections, for the length of the block."""
    with contextlib.ExitStack() as stack:
        for module in (decompose_batch_norm, fuse_batch_norm):
            create = _under_its_own_name(module.create_constant_placeholder)
            stack.enter_context(mock.patch.object(module, "create_constant_placeholder", create))
        delete = _where_none_shares_it(fuse_batch_norm.delete_constant_placeholder)
        row_by_row = ChannelsLastTaggedReshapePass.memory_sensitive_ops_nchw
        bounds = _of_all_activations(FuseActivationPass.get_output_min_max_from_activation)
        for owner, name, corrected in (
            (fuse_batch_norm, "delete_constant_placeholder", delete),
            (
                ChannelsLastTaggedReshapePass,
                "memory_sensitive_ops_nchw",
                row_by_row | _OF_THE_LAST_DIMENSION,
            ),
            (FuseActivationPass, "get_output_min_max_from_activation", bounds),
            (FuseActivationPass, "call", _with_both_bounds(FuseActivationPass.call)),
            (
                FuseBatchNormPass,
                "can_fuse",
                staticmethod(_with_constants_alone(FuseBatchNormPass.can_fuse)),
            ),
            (
                DecomposeBatchNorm,
                "can_decompose_batch_norm",
                staticmethod(_behind_another(DecomposeBatchNorm.can_decompose_batch_norm)),
            ),
        ):
            stack.enter_context(mock.patch.object(owner, name, corrected))
        yield


def _under_its_own_name(create: Any) -> Any:
    """Makes a new constant for each batch norm, under a name that no other has.

    XNNPACK names them by the weight of the norm, or the weight and the bias of what is before it.
    Norms without weights, or that share one, all had the first one's statistics.
    """

    def create_its_own(exp_program: ExportedProgram, graph: Graph, name: str, **rest: Any) -> Node:
        taken: set[Any] = set()
        for node in graph.find_nodes(op="placeholder"):
            taken |= {node.name, node.meta.get("requested_name")}
        names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        own = next(each for each in names if each not in taken)
        created: Node = create(exp_program=exp_program, graph=graph, name=own, **rest)
        return created

    return create_its_own


def _with_constants_alone(can_fuse: Any) -> Any:
    """Fuses a batch norm with the operator before it if all weights of both are constant.

    XNNPACK looks at the two weights alone. Statistics and biases that are state would be folded
    with the values that they have at the export, or the delegate would not be built.
    """

    def can_fuse_constants(before: Node, norm: Node, program: ExportedProgram, *rest: Any) -> bool:
        operands = [*before.args[1:3], *norm.args[1:5]]
        are_constant = all(
            each is None or (isinstance(each, Node) and is_param_node(program, each))
            for each in operands
        )
        if not are_constant or not can_fuse(before, norm, program, *rest):
            return False
        can_hold = _is_along_channels(before) and not _has_transposed_groups(before)
        return can_hold and not _is_shared(before.args[1], program)

    return can_fuse_constants


def _is_along_channels(before: Node) -> bool:
    """Whether a batch norm behind a linear is along the last dimension, that of its columns."""
    is_linear = before.target == exir_ops.edge.aten.linear.default
    return not is_linear or bool(before.meta["val"].dim() == 2)


def _has_transposed_groups(before: Node) -> bool:
    """Whether a transposed convolution has groups: its weight has the channels of one of them.

    The factors of a norm behind it, of which there is one for each channel, do not fit it.
    """
    is_convolution = before.target == exir_ops.edge.aten.convolution.default
    return is_convolution and bool(before.args[6] and before.args[8] != 1)


def _is_shared(weight: Any, program: ExportedProgram) -> bool:
    """Whether a weight has several uses. Each may have its own norm, and would store the weight."""
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
    same = [
        node
        for node in program.graph.find_nodes(op="placeholder")
        if targets.get(node.name) == targets.get(weight.name)
    ]
    return sum(len(node.users) for node in same) > 1


def _behind_another(can_decompose: Any) -> Any:
    """Decomposes a batch norm that follows another one.

    It asks for the type and sizes of its input. The operator that replaced the first norm gets them
    only when the whole graph is traced again (``KeyError``). They are those of the norm itself.
    """

    def can_decompose_behind_another(node: Node, *rest: Any) -> Any:
        if node.target in DecomposeBatchNorm.BATCH_NORM_OPS:
            before: Any = node.args[0]
            before.meta.setdefault("val", node.meta["val"][0])
        return can_decompose(node, *rest)

    return can_decompose_behind_another


def _where_none_shares_it(delete: Any) -> Any:
    """Keeps a constant that another placeholder of the delegate reads, too.

    ExecuTorch gives a constant a placeholder for each reader where delegates share it.
    """

    def delete_placeholder(program: ExportedProgram, node: Node) -> None:
        targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
        target = targets.pop(node.name)
        is_shared = target in targets.values()
        tables: list[Any] = [program.state_dict, program.constants]
        kept = [(table, table[target]) for table in tables if is_shared and target in table]
        delete(program, node)
        for table, value in kept:
            table[target] = value

    return delete_placeholder


def _with_both_bounds(call: Any) -> Any:
    """Writes out the upper bound of a hardtanh that was given the lower one alone.

    A trace leaves out what is the default, and XNNPACK reads both (``IndexError``).
    """

    def call_with_both_bounds(self: Any, graph_module: GraphModule) -> Any:
        hardtanh = exir_ops.edge.aten.hardtanh.default
        for node in graph_module.graph.find_nodes(op="call_function", target=hardtanh):
            if len(node.args) == 2:
                node.args = (*node.args, 1.0)
        return call(self, graph_module)

    return call_with_both_bounds


def _of_all_activations(bounds: Any) -> Any:
    """Keeps the bounds of all activations that are folded into one operator.

    XNNPACK keeps those of the last one alone.
    """

    def bounds_of_all(self: Any, activation: Node) -> OutputMinMax:
        found: OutputMinMax = bounds(self, activation)
        earlier = self.get_fused_activation(activation.args[0])
        if earlier is None:
            return found
        return OutputMinMax(
            output_min=max(earlier.output_min, found.output_min, key=float),
            output_max=min(earlier.output_max, found.output_max, key=float),
        )

    return bounds_of_all
