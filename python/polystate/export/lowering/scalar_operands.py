"""Writes numbers that operators take in place of tensors of float64 as such tensors.

ExecuTorch makes tensors of float32 of them: ``x * 2.7`` would be off by 2e-8 of it.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs

aten = torch.ops.aten


def keep_precise_scalars(program: ExportedProgram) -> None:
    """Replace them in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if isinstance(node.target, torch._ops.OpOverload) and _has_doubles(node):
                _replace(graph, node)


def _has_doubles(node: Node) -> bool:
    values = (operand.meta.get("val") for operand in node.all_input_nodes)
    return any(isinstance(x, torch.Tensor) and x.dtype == torch.float64 for x in values)


def _replace(graph: Graph, node: Node) -> None:
    assert isinstance(node.target, torch._ops.OpOverload)
    for place, argument in enumerate(node.target._schema.arguments[: len(node.args)]):
        value = node.args[place]
        if isinstance(value, float) and isinstance(argument.type, torch.TensorType):
            with graph.inserting_before(node):
                number = call(graph, aten.full.default, [], value, dtype=torch.float64)
            node.update_arg(place, number)
