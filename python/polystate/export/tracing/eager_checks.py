"""Asserts what PyTorch's operators check and the lowered ones do not.

ExecuTorch computes ``index_copy`` and ``index_add`` as ``index_put``, for which negative indices
count from the end, and ``one_hot`` as a comparison, which is false for classes that do not exist.
No engine checks every divisor of integers, and the operator of recurrent networks is no engine's.
"""

from __future__ import annotations

import re

import torch
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
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
    if node.target in NETWORKS:
        return _has_a_step(graph, node)
    divisor = _integer_divisor(node)
    return None if divisor is None else call(graph, aten.ne.Scalar, divisor, 0)


def _has_a_step(graph: Graph, node: Node) -> Node | None:
    """Write that a network's sequences have a step, where they may have none."""
    x, length = node.args[0], 1 if node.args[-1] else 0
    assert isinstance(x, Node)
    size = x.meta["val"].shape[length]
    if not isinstance(size, torch.SymInt):
        return None
    if size.node.shape_env.bound_sympy(size.node.expr).lower > 0:
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
