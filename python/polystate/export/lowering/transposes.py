"""Drops transposes that undo one another: each would copy its tensor.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten


def drop_undone_transposes(program: ExportedProgram) -> None:
    """Drops them from a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in graph.nodes:
            _drop_with_the_one_before(node)
        graph.eliminate_dead_code()
    rename_outputs(program)


def _drop_with_the_one_before(node: Node) -> None:
    order = _order(node)
    if order is None:
        return
    before: Any = node.args[0]
    earlier = _order(before)
    if earlier is not None and [earlier[i] for i in order] == sorted(order):
        node.replace_all_uses_with(before.args[0])


def _order(node: Node) -> list[int] | None:
    """Which of its input's dimensions each of a transpose's is; None for other nodes."""
    if node.target not in (aten.transpose.int, aten.permute.default):
        return None
    rank = node.meta["val"].dim()
    arguments: Any = node.args[1:]
    if node.target is aten.permute.default:
        return [dimension % rank for dimension in arguments[0]]
    order = list(range(rank))
    if rank > 0:  # a number has one dimension to name, and none to move
        first, second = (dimension % rank for dimension in arguments)
        order[first], order[second] = order[second], order[first]
    return order
