"""Writes powers of integers as products: ExecuTorch computes them in float64, which rounds them.

Needs the functional program before it is lowered. Keeps what the method computes, overflow
included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_MOST = 64  # of larger exponents, all powers that fit are of -1, 0 and 1


def write_out_integer_powers(program: ExportedProgram) -> None:
    """Replace those of which the exponent is known, in branches as well.

    An exponent that is a size becomes a tensor, of which powers are integers, and so does a base
    that is a number: AOTInductor's power of it is a float.
    """
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=aten.pow.Scalar):
            base, exponent = node.args
            dtype = node.meta["val"].dtype
            if dtype.is_floating_point or not isinstance(base, int):
                continue
            with graph.inserting_before(node):
                number = call(graph, aten.full.default, [], base, dtype=dtype)
                found = call(graph, aten.pow.Tensor_Tensor, number, exponent)
            node.replace_all_uses_with(found)
            graph.erase_node(node)
        for node in graph.find_nodes(op="call_function", target=aten.pow.Tensor_Scalar):
            base, exponent = node.args
            dtype = node.meta["val"].dtype
            is_of_integers = not dtype.is_floating_point and base.meta["val"].dtype == dtype
            if not is_of_integers:
                continue
            with graph.inserting_before(node):
                if isinstance(exponent, Node):
                    size = call(graph, aten.full.default, [], exponent, dtype=torch.int64)
                    found = call(graph, aten.pow.Tensor_Tensor, base, size)
                elif 0 < exponent <= _MOST:
                    found = power(graph, aten.mul.Tensor, base, int(exponent))
                    if found is base:
                        found = call(graph, aten.clone.default, base)
                else:
                    continue
            node.replace_all_uses_with(found)
            graph.erase_node(node)
    rename_outputs(program)


def power(graph: Graph, multiply: Callable[..., Any], base: Any, exponent: int) -> Any:
    """Insert a power as products, each of a power with itself or with the base."""
    if exponent == 1:
        return base
    half = power(graph, multiply, base, exponent // 2)
    square = call(graph, multiply, half, half)
    return call(graph, multiply, square, base) if exponent % 2 else square
