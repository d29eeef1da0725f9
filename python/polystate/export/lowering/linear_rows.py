"""Gives every linear a matrix to work on: its kernel takes no vector.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram

from polystate.export.graph.signature import changed_graphs

aten = torch.ops.aten


def vectors_to_rows(program: ExportedProgram) -> None:
    """Makes ``linear(vector)`` the first row of ``linear(vector[None])``, in place."""
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=aten.linear.default):
            if node.args[0].meta["val"].dim() == 1:
                _widen(program, graph, node)


def _widen(program: ExportedProgram, graph: torch.fx.Graph, linear: torch.fx.Node) -> None:
    vector = linear.args[0]
    assert isinstance(vector, torch.fx.Node)
    with graph.inserting_before(linear):
        row = graph.call_function(aten.unsqueeze.default, (vector, 0))
    with graph.inserting_after(linear):
        result = graph.call_function(aten.squeeze.dim, (linear, 0))
    row.meta = {**vector.meta, "val": vector.meta["val"].unsqueeze(0)}
    result.meta = dict(linear.meta)
    linear.meta["val"] = linear.meta["val"].unsqueeze(0)
    linear.args = (row, *linear.args[1:])
    linear.replace_all_uses_with(result, delete_user_cb=lambda user: user is not result)
    for spec in program.graph_signature.output_specs:
        if spec.arg.name == linear.name:
            spec.arg.name = result.name
