"""Writes arithmetic on sizes, outside tensors, by the operators that ExecuTorch has of it.

It lacks powers, absolute values, shifts, low bits and floors.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs
from polystate.export.graph.sizes import limits
from polystate.export.lowering.integer_powers import power

_MOST = 64  # of larger exponents, no power of a size but 0 and 1 fits


def write_out_size_arithmetic(program: ExportedProgram) -> None:
    """Replace such operators, in branches as well; those of no known form stay."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            write = _WRITERS.get(node.target) if node.op == "call_function" else None
            if write is None or not isinstance(node.meta.get("val"), torch.SymInt):
                continue
            with graph.inserting_before(node):
                result = write(graph, *node.args)
            if result is not None:
                node.replace_all_uses_with(result)
                graph.erase_node(node)
    rename_outputs(program)


def _power(graph: Graph, base: Any, exponent: Any) -> Node | None:
    if isinstance(exponent, Node):
        return _power_of_size(graph, base, exponent)
    if not 0 < exponent <= _MOST:
        return None
    if exponent == 1:
        return call(graph, operator.add, base, 0)
    return power(graph, operator.mul, base, exponent)  # type: ignore[no-any-return]


def _power_of_size(graph: Graph, base: Any, exponent: Node) -> Node | None:
    """The product of those squares of squares of the base whose bits the exponent has."""
    largest = limits(exponent.meta["val"]).upper
    if not largest < _MOST:
        return None
    product: Any = 1
    for bit in range(int(largest).bit_length()):
        halves, quarters = (
            call(graph, operator.floordiv, exponent, 1 << shift) for shift in (bit, bit + 1)
        )
        rest = call(graph, operator.sub, halves, call(graph, operator.mul, quarters, 2))
        product = call(graph, operator.mul, product, _where_set(graph, rest, base))
        base = call(graph, operator.mul, base, base) if isinstance(base, Node) else base * base
        if isinstance(base, int) and abs(base) >= 2**63:
            break
    return product  # type: ignore[no-any-return]


def _where_set(graph: Graph, bit: Node, factor: Any) -> Node:
    """A factor where a bit is 1, and 1 where it is 0."""
    if isinstance(factor, int):
        return call(graph, torch.sym_ite, call(graph, operator.gt, bit, 0), factor, 1)
    more = call(graph, operator.mul, bit, call(graph, operator.sub, factor, 1))
    return call(graph, operator.add, more, 1)


def _low_bits(graph: Graph, number: Any, mask: Any) -> Node | None:
    if isinstance(number, int):
        number, mask = mask, number
    if not isinstance(mask, int) or mask < 1 or mask & (mask + 1):
        return None
    above = call(graph, operator.floordiv, number, mask + 1)
    return call(graph, operator.sub, number, call(graph, operator.mul, above, mask + 1))


def _left(graph: Graph, number: Any, count: Any) -> Node | None:
    return call(graph, operator.mul, number, 1 << count) if isinstance(count, int) else None


def _right(graph: Graph, number: Any, count: Any) -> Node | None:
    return call(graph, operator.floordiv, number, 1 << count) if isinstance(count, int) else None


def _absolute(graph: Graph, number: Any) -> Node:
    return call(graph, torch.sym_max, number, call(graph, operator.neg, number))


def _floor(graph: Graph, number: Any) -> Node:
    """One less than without its fraction where that is larger than the number."""
    whole = call(graph, math.trunc, number)
    less = call(graph, operator.sub, whole, 1)
    return call(graph, torch.sym_ite, call(graph, operator.lt, number, whole), less, whole)


_WRITERS: dict[Any, Callable[..., Node | None]] = {
    abs: _absolute,
    math.floor: _floor,
    operator.abs: _absolute,
    operator.and_: _low_bits,
    operator.lshift: _left,
    operator.pow: _power,
    operator.rshift: _right,
    pow: _power,
}
