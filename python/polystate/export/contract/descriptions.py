"""Says in words what a graph computes, for messages."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import Node

from polystate.artifact.expressions import to_text
from polystate.errors import UnsupportedError
from polystate.export.contract.bounds import Bounds
from polystate.export.graph.expressions import to_expression
from polystate.export.graph.provenance import keeps_elements
from polystate.export.graph.scalars import Leaf
from polystate.export.graph.sizes import Sizes

# How many operators deep a description goes.
_DEPTH = 4

# The names of inputs, weights and state by their placeholders.
Names = Mapping[Node, str]


def describe_tensor(value: Any, names: Names, depth: int = _DEPTH) -> str:
    """Describe the operators that compute a tensor: ``lt(sum(abs(x)), 100)``."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(describe_tensor(element, names, depth) for element in value)}]"
    if not isinstance(value, Node):
        return str(value)
    if value.op != "call_function":
        return names.get(value, value.name)
    if keeps_elements(value):
        return describe_tensor(value.args[0], names, depth)
    if depth == 0:
        return "..."
    operands = [describe_tensor(operand, names, depth - 1) for operand in value.args]
    if value.target is operator.getitem:
        return f"{operands[0]}[{operands[1]}]"
    if value.target == torch.ops.aten.unbind.int:
        return operands[0]
    return f"{_operator_name(value.target)}({', '.join(operands)})"


def describe_leaf(leaf: Leaf, names: Names) -> str:
    """Describe a number that only the run knows: ``max(k)``, ``nonzero(x).shape[0]``."""
    node = leaf.node
    if leaf.is_size and node.target == torch.ops.aten.sym_size.int:
        tensor, dimension = node.args
        return f"{describe_tensor(tensor, names)}.shape[{dimension}]"
    return describe_tensor(node, names)


def describe_condition(
    condition: sympy.Basic, sizes: Sizes, leaves: Mapping[sympy.Symbol, str]
) -> str:
    """Describe a condition on sizes and leaves: ``max(k) + 1 < batch``."""
    names = {**sizes.names, **leaves}
    try:
        return to_text(to_expression(condition, names))
    except UnsupportedError:
        known = condition.free_symbols & names.keys()
        return str(condition.xreplace({symbol: sympy.Symbol(names[symbol]) for symbol in known}))


def describe_bounds(bounds: Bounds, label: str, sizes: Sizes) -> str:
    """Describe limits: ``0 <= k <= batch - 1``."""
    if bounds.low is not None and bounds.low == bounds.high:
        return f"{label} == {describe_condition(bounds.low, sizes, {})}"
    low = "" if bounds.low is None else f"{describe_condition(bounds.low, sizes, {})} <= "
    high = "" if bounds.high is None else f" <= {describe_condition(bounds.high, sizes, {})}"
    return low + label + high


def _operator_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        return str(target.overloadpacket.__name__).lstrip("_")
    return str(getattr(target, "__name__", target))
