"""Writes remainders so that ExecuTorch computes them as PyTorch does.

Its remainder of integers, in tensors and outside them, takes the sign of the dividend: -1 % 5 is
-1 there and 4 in PyTorch. Its division that rounds down is right; the remainder is what it leaves.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_REMAINDERS = {aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor}
_SIGNED = {torch.int8, torch.int16, torch.int32, torch.int64}


def rewrite_remainders(program: ExportedProgram) -> None:
    """Replace the remainders of integers in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if _is_remainder(node):
                _rewrite(graph, node)
    rename_outputs(program)


def _is_remainder(node: Node) -> bool:
    value = node.meta.get("val")
    if node.target is operator.mod:
        return isinstance(value, torch.SymInt)
    return node.target in _REMAINDERS and isinstance(value, torch.Tensor) and value.dtype in _SIGNED


def _rewrite(graph: Graph, node: Node) -> None:
    dividend, divisor = node.args
    with graph.inserting_before(node):
        if node.target is operator.mod:
            floored = call(graph, operator.floordiv, dividend, divisor)
            product = call(graph, operator.mul, floored, divisor)
            remainder = call(graph, operator.sub, dividend, product)
        else:
            remainder = _tensor_remainder(graph, node, dividend, divisor)
    node.replace_all_uses_with(remainder)
    graph.erase_node(node)


def _tensor_remainder(graph: Graph, node: Node, dividend: Any, divisor: Any) -> Node:
    dtype = node.meta["val"].dtype
    operands = [
        operand
        if isinstance(operand, Node) and isinstance(operand.meta["val"], torch.Tensor)
        else call(graph, aten.full.default, [], operand, dtype=dtype)
        for operand in (dividend, divisor)
    ]
    floored = call(graph, aten.div.Tensor_mode, *operands, rounding_mode="floor")
    product = call(graph, aten.mul.Tensor, floored, operands[1])
    return call(graph, aten.sub.Tensor, operands[0], product)
