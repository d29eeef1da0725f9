"""Writes out ``gelu(x, approximate="tanh")``, for which XNNPACK computes the exact one.

Needs the functional program before it is lowered. Keeps what the method computes, to rounding.
"""

from __future__ import annotations

import math

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten


def write_out_tanh_gelus(program: ExportedProgram) -> None:
    """Replaces them in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=aten.gelu.default):
            is_single = node.meta["val"].dtype == torch.float32  # others are not delegated
            if is_single and node.kwargs.get("approximate") == "tanh":
                _rewrite(graph, node)
    rename_outputs(program)


def _rewrite(graph: Graph, gelu: Node) -> None:
    """As PyTorch defines it: ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``."""
    x = gelu.args[0]
    add, mul = aten.add.Tensor, aten.mul.Tensor
    with graph.inserting_before(gelu):
        cubic = call(graph, add, call(graph, mul, call(graph, mul, x, x), 0.044715), 1.0)
        inner = call(graph, mul, call(graph, mul, x, math.sqrt(2 / math.pi)), cubic)
        factor = call(graph, add, call(graph, aten.tanh.default, inner), 1.0)
        result = call(graph, mul, call(graph, mul, x, 0.5), factor)
    gelu.replace_all_uses_with(result)
    graph.erase_node(gelu)
