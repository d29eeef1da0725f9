"""Asserts what PyTorch's operators check and the lowered ones do not.

ExecuTorch computes ``index_copy`` and ``index_add`` as ``index_put``, for which negative indices
count from the end, and ``one_hot`` as a comparison, which is false for classes that do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Graph, Node

from polystate.export.scalar_tensors import call

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
        for comparison, index, limit in _limits(node):
            with graph.inserting_before(node):
                holds = call(graph, aten.all.default, call(graph, comparison, index, limit))
                asserted = call(graph, aten._assert_async.msg, holds, "")
                asserted.meta["stack_trace"] = node.meta.get("stack_trace")


def _limits(node: Node) -> Iterator[tuple[Callable[..., Any], Any, Any]]:
    """List what holds for the operands of a node."""
    if node.target in _WITHOUT_NEGATIVE_INDICES:
        yield aten.ge.Scalar, node.args[2], 0
    elif node.target == aten.one_hot.default:
        classes = node.args[1] if len(node.args) > 1 else -1
        yield aten.ge.Scalar, node.args[0], 0
        if classes != -1:
            yield aten.lt.Scalar, node.args[0], classes
