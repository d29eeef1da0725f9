"""Writes powers of integers as products: ExecuTorch computes them in float64, which rounds them.

Needs the functional program before it is lowered. Keeps what the method computes, overflow
included.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_MOST = 64  # of larger exponents, all powers that fit are of -1, 0 and 1


def write_out_integer_powers(program: ExportedProgram) -> None:
    """Replace those of which the exponent is known, in branches as well."""
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=aten.pow.Tensor_Scalar):
            base, exponent = node.args
            dtype = node.meta["val"].dtype
            is_of_integers = not dtype.is_floating_point and base.meta["val"].dtype == dtype
            if not is_of_integers or not 0 < exponent <= _MOST:
                continue
            with graph.inserting_before(node):
                power = _power(graph, base, int(exponent))
            node.replace_all_uses_with(power)
            graph.erase_node(node)
    rename_outputs(program)


def _power(graph: Graph, base: Node, exponent: int) -> Node:
    if exponent == 1:
        return call(graph, aten.clone.default, base)
    half = _power(graph, base, exponent // 2) if exponent > 3 else base
    square = call(graph, aten.mul.Tensor, half, half)
    return call(graph, aten.mul.Tensor, square, base) if exponent % 2 else square
