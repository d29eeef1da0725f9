"""Asserts what PyTorch's operators check and the lowered ones do not.

ExecuTorch computes ``index_copy`` and ``index_add`` as ``index_put``, for which negative indices
count from the end, and ``one_hot`` as a comparison, which is false for classes that do not exist.
They compute a binary cross entropy also where the inputs are no probabilities.
No engine checks every divisor of integers, nor what is divided outside tensors, and the operator of
recurrent networks is no engine's.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.scalars import ITEMS
from polystate.export.graph.sizes import may_be_zero
from polystate.export.tracing.recurrent import NETWORKS

aten = torch.ops.aten

_WITHOUT_NEGATIVE_INDICES = {
    aten.index_add.default,
    aten.index_add_.default,
    aten.index_copy.default,
    aten.index_copy_.default,
}


def assert_eager_checks(graph: Graph) -> None:
    """Insert assertions before the operators that need them, in a graph as torch.export gave it."""
    for node in list(graph.nodes):
        with graph.inserting_before(node):
            holds = _condition(graph, node)
            if holds is not None:
                asserted = call(
                    graph, aten._assert_async.msg, call(graph, aten.all.default, holds), ""
                )
                asserted.meta["stack_trace"] = node.meta.get("stack_trace")
            for condition in _number_conditions(graph, node):
                asserted = graph.call_function(aten._assert_scalar.default, (condition, ""))
                asserted.meta["stack_trace"] = node.meta.get("stack_trace")


def _condition(graph: Graph, node: Node) -> Node | None:
    """Write what holds for the operands of a node; None where that needs no assertion."""
    if node.target in _WITHOUT_NEGATIVE_INDICES:
        return call(graph, aten.ge.Scalar, node.args[2], 0)
    if node.target == aten.one_hot.default:
        classes = node.args[1] if len(node.args) > 1 else -1
        not_negative = call(graph, aten.ge.Scalar, node.args[0], 0)
        if classes == -1:
            return not_negative
        below = call(graph, aten.lt.Scalar, node.args[0], classes)
        return call(graph, aten.logical_and.default, not_negative, below)
    if node.target == aten.binary_cross_entropy.default:
        return _are_probabilities(graph, node.args[:2])
    if node.target in NETWORKS:
        return _has_a_step(graph, node)
    divisor = _integer_divisor(node)
    return None if divisor is None else call(graph, aten.ne.Scalar, divisor, 0)


def _are_probabilities(graph: Graph, operands: Sequence[Any]) -> Node:
    """Write that all elements are from 0 to 1."""
    ends = ((aten.ge.Scalar, 0), (aten.le.Scalar, 1))
    limits = [call(graph, compare, each, end) for each in operands for compare, end in ends]
    return reduce(lambda a, b: call(graph, aten.logical_and.default, a, b), limits)


def _has_a_step(graph: Graph, node: Node) -> Node | None:
    """Write that a network's sequences have a step, where they may have none."""
    x, length = node.args[0], 1 if node.args[-1] else 0
    assert isinstance(x, Node)
    size = x.meta["val"].shape[length]
    if not isinstance(size, torch.SymInt):
        return None
    if not may_be_zero(size):
        return None
    steps = call(graph, aten.full.default, [], call(graph, aten.sym_size.int, x, length))
    return call(graph, aten.gt.Scalar, steps, 0)


_DIVISIONS = re.compile(r"aten::(div|floor_divide|remainder|fmod)_?")


def _integer_divisor(node: Node) -> Node | None:
    """What integers are divided by, where it is a tensor."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    result = node.meta.get("val")
    if not _DIVISIONS.fullmatch(node.target._schema.name) or not isinstance(result, torch.Tensor):
        return None
    divisor = node.args[1]
    if not isinstance(divisor, Node) or not isinstance(divisor.meta["val"], torch.Tensor):
        return None
    return None if result.dtype.is_floating_point else divisor


_NUMBER_DIVISIONS = {operator.floordiv, operator.mod, operator.truediv}
_SMALLEST = torch.iinfo(torch.int64).min


def _number_conditions(graph: Graph, node: Node) -> list[Node]:
    """Write what holds for the operands of a division outside tensors."""
    if node.target not in _NUMBER_DIVISIONS:
        return []
    dividend, divisor = node.args
    conditions = [call(graph, operator.ne, divisor, 0)] if isinstance(divisor, Node) else []
    if node.target is not operator.truediv and isinstance(node.meta["val"], torch.SymInt):
        conditions += _quotient_fits(graph, dividend, divisor)
    return [each for each in conditions if not statically_known_true(each.meta["val"])]


def _quotient_fits(graph: Graph, dividend: Any, divisor: Any) -> list[Node]:
    """Write that it is not the quotient of the smallest integer by -1, which has no place.

    PyTorch brings the constants of a condition together, and they must have a place then as well:
    what is computed is kept farther from the smallest integer.
    """
    if not isinstance(dividend, Node) or (not isinstance(divisor, Node) and divisor != -1):
        return []
    if dividend.target in ITEMS:
        fits = call(graph, operator.ne, dividend, _SMALLEST)
    else:
        fits = call(graph, operator.ge, dividend, _SMALLEST // 2)
    if not isinstance(divisor, Node):
        return [fits]
    return [call(graph, operator.or_, call(graph, operator.ne, divisor, -1), fits)]
