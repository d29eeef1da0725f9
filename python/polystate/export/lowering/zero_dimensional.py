"""Gives tensors without dimensions one, for operators that work along a dimension.

PyTorch takes dimension 0 of such a tensor for one of size 1. ExecuTorch's kernels end the process.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.operands import given_arguments
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_NAMES = ("dim", "dims", "dimension")
_FILLS = "value"  # a tensor that keeps having none


def give_dimensions(program: ExportedProgram) -> None:
    """Rewrite such operators in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if _is_along_no_dimension(node):
                _rewrite(graph, node)
    rename_outputs(program)


def _is_along_no_dimension(node: Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload) or not node.args:
        return False
    given = given_arguments(node.target, node.args, node.kwargs)
    is_along_one = any(given.get(name) not in (None, []) for name in _NAMES)
    return is_along_one and _rank(node.args[0]) == 0 and not _makes_dimensions(node)


def _makes_dimensions(node: Node) -> bool:
    """Whether the dimension is one of the result: these operators take what has none."""
    return node.target in (aten.unsqueeze.default, aten.unsqueeze_copy.default)


def _rank(value: Any) -> int | None:
    tensor = value.meta.get("val") if isinstance(value, Node) else None
    return tensor.dim() if isinstance(tensor, torch.Tensor) else None


def _rewrite(graph: Graph, node: Node) -> None:
    users = list(node.users)
    assert isinstance(node.target, torch._ops.OpOverload)
    names = [argument.name for argument in node.target._schema.arguments]
    with graph.inserting_before(node):
        operands = [
            call(graph, aten.view.default, each, [1])
            if _rank(each) == 0 and name != _FILLS
            else each
            for name, each in zip(names, node.args, strict=False)
        ]
        result = call(graph, node.target, *operands, **node.kwargs)
        if isinstance(node.meta["val"], torch.Tensor):
            node.replace_all_uses_with(_shaped(graph, result, node))
    for user in users:
        if user.target is operator.getitem and user.args[0] is node:
            with graph.inserting_before(user):
                part = call(graph, operator.getitem, result, user.args[1])
                user.replace_all_uses_with(_shaped(graph, part, user))
            graph.erase_node(user)
    graph.erase_node(node)


def _shaped(graph: Graph, value: Node, like: Node) -> Node:
    return call(graph, aten.view.default, value, list(like.meta["val"].shape))
