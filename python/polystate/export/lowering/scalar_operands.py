"""Writes numbers that operators take in place of tensors as tensors of the type they compute in.

ExecuTorch makes tensors of int64 and float32 of them. Of float64, ``x * 2.7`` would be off by 2e-8
of it; beside tensors without dimensions, ``x + 1`` would be of another type than PyTorch's: of
uint8, 255 + 1 is 0.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.operands import number_as
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs

aten = torch.ops.aten


def keep_precise_scalars(program: ExportedProgram) -> None:
    """Replace them in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if isinstance(node.target, torch._ops.OpOverload):
                _replace(graph, node)


def _replace(graph: Graph, node: Node) -> None:
    assert isinstance(node.target, torch._ops.OpOverload)
    given = (operand.meta.get("val") for operand in node.all_input_nodes)
    tensors = [each for each in given if isinstance(each, torch.Tensor)]
    for place, argument in enumerate(node.target._schema.arguments[: len(node.args)]):
        value = node.args[place]
        if isinstance(argument.type, torch.TensorType) and isinstance(value, bool | int | float):
            dtype = _dtype_of(value, tensors)
            if dtype is not None:
                with graph.inserting_before(node):
                    number = call(
                        graph, aten.full.default, [], number_as(value, dtype), dtype=dtype
                    )
                node.update_arg(place, number)


def _dtype_of(value: float, beside: Sequence[torch.Tensor]) -> torch.dtype | None:
    """The type that a number is to have; None where ExecuTorch's does as well."""
    if isinstance(value, float) and any(each.dtype == torch.float64 for each in beside):
        return torch.float64
    if not beside or any(each.dim() for each in beside):
        return None
    common = functools.reduce(torch.promote_types, (each.dtype for each in beside))
    return torch.result_type(torch.empty((), dtype=common), value)
