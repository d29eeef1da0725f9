"""Lets layer norms run on all threads, and the rows of one where the next product reads them.

Needs the functional program before it is lowered. Keeps what the method computes, to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from polystate import ops  # noqa: F401  (defines the operator)
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs


def spread_layer_norms(program: ExportedProgram) -> None:
    """Replaces those over one dimension in a functional program, branches included."""
    target = torch.ops.aten.layer_norm.default
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=target):
            arguments = _arguments(node)
            if arguments is not None:
                with graph.inserting_before(node):
                    result = call(graph, torch.ops.polystate.layer_norm.default, *arguments)
                node.replace_all_uses_with(result)
                graph.erase_node(node)
    rename_outputs(program)


def _arguments(node: Node) -> tuple[Any, ...] | None:
    """Of our operator; None where it does not fit."""
    defaults = (None, None, 1e-5)
    given: tuple[Any, ...] = (*node.args, *defaults[len(node.args) - 2 :])
    x, shape, weight, bias, eps = given[:5]
    if node.kwargs or len(shape) != 1 or weight is None or bias is None:
        return None
    values = [each.meta["val"] for each in (x, weight, bias)]
    is_single = all(value.dtype == torch.float32 for value in values)
    return (x, weight, bias, eps) if is_single and values[0].is_contiguous() else None
