"""Keeps old values of state alive where a method returns or moves them.

In a functional graph an old value is the buffer's placeholder; once the buffer is written in place,
the same name means the new value. Outputs are read after that, and so is a buffer that another one
is copied from (``a, b = b, a``). There, each pass puts a copy of the value.

Both keep the graph's signature, and change only the values that outputs name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, Node

# Edge operators that become views of their first operand in the lowered program.
_EDGE_VIEWS = {exir_ops.edge.aten.view_copy.default}

_CHANGES = {OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION}


def clone_old_values(program: ExportedProgram) -> None:
    """Copies the old values among the outputs of a functional program, in place.

    Decompositions run the graph with its changes written back one after another, and so read a
    buffer that was written already.
    """
    signature = program.graph_signature
    targets = {
        spec.arg.name: spec.arg.name if spec.kind == InputKind.USER_INPUT else spec.target
        for spec in signature.input_specs
    }
    changed = {spec.target for spec in signature.output_specs if spec.kind in _CHANGES}
    output = program.graph.output_node()
    values = list(output.args[0])
    for position, spec in enumerate(signature.output_specs):
        value = values[position]
        if not isinstance(value, Node):
            continue
        source = _memory_of(value, _is_aten_view)
        if source.op != "placeholder" or targets[source.name] not in changed:
            continue
        if value is source and spec.kind in _CHANGES and spec.target == targets[source.name]:
            continue  # the value did not change
        copy = _inserted_after(
            value, torch.ops.aten.clone.default, memory_format=torch.contiguous_format
        )
        copy.meta["val"] = value.meta["val"].contiguous()
        values[position] = copy
        spec.arg.name = copy.name
    output.args = (tuple(values),)
    program.graph_module.recompile()


def copy_old_values(program: ExportedProgram) -> None:
    """Copies the old values, and the buffers returned as they are, of an edge program, in place.

    Needs the program after delegation.
    """
    signature = program.graph_signature
    kinds = {spec.arg.name: spec for spec in signature.input_specs}
    output = program.graph.output_node()
    values = list(output.args[0])
    for position, spec in enumerate(signature.output_specs):
        value = values[position]
        if not isinstance(value, Node):
            continue
        source = _memory_of(value, _EDGE_VIEWS.__contains__)
        if source.op != "placeholder":
            continue
        origin = kinds[source.name]
        if spec.kind == OutputKind.BUFFER_MUTATION and origin.target == spec.target:
            continue  # the value did not change
        if origin.kind == InputKind.USER_INPUT and spec.kind != OutputKind.BUFFER_MUTATION:
            continue  # the caller's own memory, which nothing writes
        copy = _inserted_after(
            value,
            exir_ops.edge.dim_order_ops._clone_dim_order.default,
            dim_order=list(range(value.meta["val"].dim())),
        )
        values[position] = copy
        spec.arg.name = copy.name
    output.args = (tuple(values),)
    program.graph_module.recompile()


def _memory_of(node: Node, is_view: Callable[[Any], bool]) -> Node:
    """The node whose memory a value lies in."""
    while node.op == "call_function" and is_view(node.target):
        operand = node.args[0]
        assert isinstance(operand, Node)
        node = operand
    return node


def _is_aten_view(target: Any) -> bool:
    return target is operator.getitem or bool(getattr(target, "is_view", False))


def _inserted_after(value: Node, target: Callable[..., Any], **options: Any) -> Node:
    """A call of ``target`` on the value, right after it."""
    graph: Graph = value.graph
    after = value
    if value.op == "placeholder":  # placeholders stay together
        after = [node for node in graph.nodes if node.op == "placeholder"][-1]
    with graph.inserting_after(after):
        result = graph.call_function(target, (value,), options)
    result.meta = dict(value.meta)
    return result
