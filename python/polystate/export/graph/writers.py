"""Finds operators that may be computed in a state's memory before its new value is known.

A new value of a small state is written at a method's end, when nothing can fail any more.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.operands import changes_arguments

# Below this many bytes a copy costs less than what an atomic method is worth.
SMALL = 64 * 1024


def writes_early(exported: ExportedProgram) -> bool:
    """Whether a functional program changes a state that is not written at its end.

    An operator that changes its arguments writes them at once, however small they are.
    """
    signature = exported.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    return any(map(changes_arguments, exported.graph.nodes)) or any(
        _bytes_of(node) >= SMALL
        for node in exported.graph.find_nodes(op="placeholder")
        if signature.inputs_to_buffers.get(node.name) in changed
    )


def _bytes_of(node: Node) -> int:
    value: torch.Tensor = node.meta["val"]
    return value.numel() * value.element_size()


def part_writers(graph: Graph, states: set[Node]) -> set[Node]:
    """List what may change a part of some state at once, in a functional graph.

    That is what takes a state, or such a value of it, and gives a tensor of its type and shape, but
    neither element by element nor as a copy.
    """
    values, found = set(states), set()
    for node in graph.nodes:
        operands = [each for each in node.all_input_nodes if each in values]
        if node.op != "call_function" or not operands or _is_copy(node):
            continue
        if any(_is_alike(node, each) for each in operands):
            values.add(node)
            if torch.Tag.pointwise not in getattr(node.target, "tags", ()):
                found.add(node)
    return found


def _is_copy(node: Node) -> bool:
    """Whether a node is one of our operators, which give new tensors."""
    return getattr(node.target, "namespace", "") == "polystate"


def _is_alike(node: Node, operand: Node) -> bool:
    """Whether the result may lie where the operand lies."""
    result, value = node.meta.get("val"), operand.meta.get("val")
    if not isinstance(result, torch.Tensor) or not isinstance(value, torch.Tensor):
        return True  # several results
    return result.dtype == value.dtype and str(result.shape) == str(value.shape)
