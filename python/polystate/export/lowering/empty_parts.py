"""Gives what is joined of tensors without elements the shape that it has in PyTorch.

ExecuTorch leaves out tensors without elements, of which only those of one dimension may have
another shape. Where another dimension is 0, all are left out, and the joined one is 0, too.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_JOINED = {aten.cat.default, aten.stack.default}


def shape_joined_parts(program: ExportedProgram) -> None:
    """Shape them anew in a functional program, in branches, too, where a dimension may be 0."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if node.target in _JOINED and _may_be_empty(node):
                _shape(graph, node)
    rename_outputs(program)


def _may_be_empty(node: Node) -> bool:
    """Whether a dimension beside the joined one may be 0, and the joined one is known."""
    shape = node.meta["val"].shape
    joined = _joined(node)
    others = [size for dimension, size in enumerate(shape) if dimension != joined]
    return isinstance(shape[joined], int) and any(
        isinstance(size, torch.SymInt)
        and size.node.shape_env.bound_sympy(size.node.expr).lower <= 0
        for size in others
    )


def _joined(node: Node) -> int:
    dimension = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    assert isinstance(dimension, int)
    return dimension % len(node.meta["val"].shape)


def _shape(graph: Graph, node: Node) -> None:
    users = list(node.users)
    with graph.inserting_before(node.next):
        sizes = [
            call(graph, aten.sym_size.int, node, dimension)
            if isinstance(size, torch.SymInt)
            else size
            for dimension, size in enumerate(node.meta["val"].shape)
        ]
        shaped = call(graph, aten.view.default, node, sizes)
    for user in users:
        user.replace_input_with(node, shaped)
