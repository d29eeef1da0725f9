"""Convolves signals as planes of one column where XNNPACK's own way to do so fails.

XNNPACK convolves planes alone. A delegate makes one of a signal by a reshape, of whose sizes one
may vary at the most. It gives the weight a dimension for each convolution that reads it, so that a
second one finds too many.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.operands import all_operands
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

# Convolutions of signals, and of planes; and what stride, padding and the others, but the number
# of groups and padding by its name, have for the columns' dimension.
_PLANAR: dict[Any, tuple[Any, tuple[int | None, ...]]] = {
    aten.conv1d.default: (aten.conv2d.default, (1, 0, 1, None)),
    aten.conv1d.padding: (aten.conv2d.padding, (1, None, 1, None)),
    aten.conv_transpose1d.default: (aten.conv_transpose2d.input, (1, 0, 0, None, 1)),
}
_RANK = 3
_AT_MOST = 1  # sizes that vary


def convolve_planes(program: ExportedProgram) -> None:
    """Rewrite convolutions of signals in a functional program, in branches, too."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if node.target in _PLANAR and (_varies(node) or _shares_its_weight(node)):
                _rewrite(graph, node)
    rename_outputs(program)


def _varies(node: Node) -> bool:
    signal = node.args[0]
    assert isinstance(signal, Node)
    shape = signal.meta["val"].shape
    varying = sum(isinstance(size, torch.SymInt) for size in shape)
    return len(shape) == _RANK and varying > _AT_MOST


def _shares_its_weight(node: Node) -> bool:
    weight = node.args[1]
    assert isinstance(weight, Node)
    return len(weight.users) > 1


def _rewrite(graph: Graph, node: Node) -> None:
    operator, arguments = _by_numbers(node)
    target, column = _PLANAR[operator]
    signal, weight, *rest = arguments
    bias, numbers = (rest[0], rest[1:]) if rest else (None, [])
    pairs = [
        each if more is None else [*_listed(each), more]
        for each, more in zip(numbers, column, strict=False)
    ]
    with graph.inserting_before(node):
        plane = call(graph, aten.unsqueeze.default, signal, -1)
        # Not a view, so that the weight is computed once (`constant_weights`).
        weights = call(graph, aten.unsqueeze_copy.default, weight, -1)
        planes = call(graph, target, plane, weights, bias, *pairs)
        result = call(graph, aten.squeeze.dim, planes, -1)
    result.meta = {**node.meta, "val": result.meta["val"]}
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _by_numbers(node: Node) -> tuple[Any, list[Any]]:
    """A convolution's operator and arguments, with padding by numbers where both sides have one.

    Weights are computed once for operators that take numbers alone.
    """
    if node.target != aten.conv1d.padding:
        return node.target, list(node.args)
    given = all_operands(node)
    (dilation,) = _listed(given["dilation"])
    width = given["weight"].meta["val"].shape[-1]
    padding = dilation * (width - 1) if given["padding"] == "same" else 0
    if padding % 2 == 1:
        return node.target, list(given.values())
    return aten.conv1d.default, list({**given, "padding": [padding // 2]}.values())


def _listed(numbers: Any) -> list[Any]:
    return [numbers] if isinstance(numbers, int) else list(numbers)
