"""Gives joined tensors the shape that they have in PyTorch where all parts are empty.

ExecuTorch leaves empty parts out. Where a dimension beside the joined one is 0, all parts are
empty, and its result has size 0 in the joined dimension, too.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs
from polystate.export.graph.sizes import may_be_zero

aten = torch.ops.aten

_JOINED = {aten.cat.default, aten.stack.default}


def shape_joined_parts(program: ExportedProgram) -> None:
    """Reshape joined tensors of a functional program, in branches, too, where all may be empty."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if node.target in _JOINED and _may_be_empty(node):
                _shape(graph, node)
    rename_outputs(program)


def _may_be_empty(node: Node) -> bool:
    """Whether a dimension beside the joined one may be 0."""
    joined = _joined(node)
    return any(
        dimension != joined and isinstance(size, torch.SymInt) and may_be_zero(size)
        for dimension, size in enumerate(node.meta["val"].shape)
    )


def _joined(node: Node) -> int:
    dimension = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    assert isinstance(dimension, int)
    return dimension % len(node.meta["val"].shape)


def _shape(graph: Graph, node: Node) -> None:
    users = list(node.users)
    with graph.inserting_before(node.next):
        sizes = [_size(graph, node, dimension) for dimension in range(len(node.meta["val"].shape))]
        joined = _joined(node)
        if node.target == aten.cat.default:
            given: Any = node.args[0]
            # PyTorch also takes empty tensors of one dimension beside others, and leaves them out.
            parts = (each for each in given if each.meta["val"].dim() == len(sizes))
            lengths = (_size(graph, part, joined) for part in parts)
            sizes[joined] = functools.reduce(functools.partial(_sum, graph), lengths)
        shaped = call(graph, aten.view.default, node, sizes)
    for user in users:
        user.replace_input_with(node, shaped)


def _size(graph: Graph, node: Node, dimension: int) -> Any:
    size = node.meta["val"].shape[dimension]
    if not isinstance(size, torch.SymInt):
        return size
    return call(graph, aten.sym_size.int, node, dimension)


def _sum(graph: Graph, a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return call(graph, operator.add, a, b)
