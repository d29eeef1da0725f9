"""Writes divisions of integers, and of floats that round down, so that all engines do as PyTorch.

ExecuTorch's remainder, in tensors and outside them, takes the sign of the dividend: -1 % 5 is -1
there and 4 in PyTorch, and quotients that it rounds towards zero are those of doubles. Its division
that rounds down is right; all others are made of it.
Processors have no quotient of the smallest integer by -1 or of anything by 0: the process ends.
The first is the smallest integer in PyTorch. The second is an error, which a check of the divisor
raises (`tracing/eager_checks.py`), sooner or later: until then the quotient may be anything.

A quotient of floats that is rounded down is what the remainder leaves as well: AOTInductor rounds
the rounded quotient, and ExecuTorch's is infinite by 0, also that of 0 and of NaN.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_ROUNDING = {"aten::floor_divide": "floor", "aten::remainder": "floor", "aten::fmod": "trunc"}
_SIGNED = {torch.int8, torch.int16, torch.int32, torch.int64}


@dataclass(frozen=True)
class _Division:
    """One division of integers: its quotient, or the remainder that it leaves."""

    dividend: Any
    divisor: Any
    rounding: str  # "floor" or "trunc"
    leaves: bool


def rewrite_integer_divisions(program: ExportedProgram) -> None:
    """Replace them in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            with graph.inserting_before(node):
                result = _written(graph, node)
            if result is not None:
                node.replace_all_uses_with(result)
                graph.erase_node(node)
    rename_outputs(program)


def _written(graph: Graph, node: Node) -> Node | None:
    """What takes a node's place; None where it may stay."""
    value = node.meta.get("val")
    if node.target is operator.mod and isinstance(value, torch.SymInt):
        dividend, divisor = node.args
        floored = call(graph, operator.floordiv, dividend, divisor)
        return call(graph, operator.sub, dividend, call(graph, operator.mul, floored, divisor))
    division = _division(node)
    if division is None or not isinstance(value, torch.Tensor):
        return None
    if value.dtype.is_floating_point:
        is_floored = division.rounding == "floor" and not division.leaves
        return _floored_float(graph, node, division) if is_floored else None
    if value.dtype not in _SIGNED:
        return None
    is_safe = isinstance(division.divisor, int) and division.divisor not in (-1, 0)
    if is_safe and not division.leaves and division.rounding == "floor":
        return None
    a, b = (_operand(graph, each, value.dtype) for each in (division.dividend, division.divisor))
    is_minus_one = call(graph, aten.eq.Scalar, b, -1)
    has_none = call(graph, aten.logical_or.default, is_minus_one, call(graph, aten.eq.Scalar, b, 0))
    one = call(graph, aten.full.default, [], 1, dtype=value.dtype)
    safe = call(graph, aten.where.self, has_none, one, b)
    quotient = call(graph, aten.div.Tensor_mode, a, safe, rounding_mode="floor")
    if division.rounding == "trunc":
        quotient = _towards_zero(graph, quotient, a, safe)
    if division.leaves:
        return _rest(graph, quotient, a, safe)
    return call(graph, aten.where.self, is_minus_one, call(graph, aten.neg.default, a), quotient)


def _towards_zero(graph: Graph, floored: Node, a: Node, b: Node) -> Node:
    """The quotient without its fraction: one more than what is rounded down below zero."""
    a_is_negative, b_is_negative = (call(graph, aten.lt.Scalar, each, 0) for each in (a, b))
    is_below_zero = call(graph, aten.ne.Tensor, a_is_negative, b_is_negative)
    has_fraction = call(graph, aten.ne.Scalar, _rest(graph, floored, a, b), 0)
    is_off = call(graph, aten.logical_and.default, is_below_zero, has_fraction)
    return call(graph, aten.where.self, is_off, call(graph, aten.add.Tensor, floored, 1), floored)


def _rest(graph: Graph, quotient: Node, a: Node, b: Node) -> Node:
    return call(graph, aten.sub.Tensor, a, call(graph, aten.mul.Tensor, quotient, b))


def _floored_float(graph: Graph, node: Node, division: _Division) -> Node:
    """As PyTorch's ``div_floor_floating``, from the remainder: ``1.0 // 0.1`` is 9."""
    dtype = node.meta["val"].dtype
    a, b = (_operand(graph, each, dtype) for each in (division.dividend, division.divisor))
    remainder = call(graph, aten.fmod.Tensor, a, b)
    quotient = call(graph, aten.div.Tensor, call(graph, aten.sub.Tensor, a, remainder), b)
    signs = (call(graph, aten.lt.Scalar, each, 0) for each in (b, remainder))
    is_below = call(
        graph,
        aten.logical_and.default,
        call(graph, aten.ne.Scalar, remainder, 0),
        call(graph, aten.logical_xor.default, *signs),
    )
    less = call(graph, aten.sub.Scalar, quotient, 1)
    quotient = call(graph, aten.where.self, is_below, less, quotient)
    floored = call(graph, aten.floor.default, quotient)
    is_rounded = call(graph, aten.gt.Scalar, call(graph, aten.sub.Tensor, quotient, floored), 0.5)
    more = call(graph, aten.add.Scalar, floored, 1)
    floored = call(graph, aten.where.self, is_rounded, more, floored)
    divided = call(graph, aten.div.Tensor, a, b)
    signed_zero = call(graph, aten.mul.Scalar, divided, 0)
    is_nothing = call(graph, aten.eq.Scalar, quotient, 0)
    floored = call(graph, aten.where.self, is_nothing, signed_zero, floored)
    is_zero = call(graph, aten.eq.Scalar, b, 0)
    return call(graph, aten.where.self, is_zero, divided, floored)


def _division(node: Node) -> _Division | None:
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    name = node.target._schema.name
    rounding = node.kwargs.get("rounding_mode") if name == "aten::div" else _ROUNDING.get(name)
    if not isinstance(rounding, str):
        return None
    dividend, divisor = node.args
    leaves = name in ("aten::remainder", "aten::fmod")
    return _Division(dividend, divisor, rounding, leaves=leaves)


def _is_tensor(operand: Any) -> bool:
    return isinstance(operand, Node) and isinstance(operand.meta["val"], torch.Tensor)


def _operand(graph: Graph, operand: Any, dtype: torch.dtype) -> Node:
    """The operand as a tensor of the result's type."""
    if not _is_tensor(operand):
        return call(graph, aten.full.default, [], operand, dtype=dtype)
    if operand.meta["val"].dtype == dtype:
        node: Node = operand
        return node
    return call(graph, aten._to_copy.default, operand, dtype=dtype)
