"""Computes weights that follow from constants once, not at each call.

So are those of recurrent networks packed, and those that are normed (``spectral_norm``) found. A
delegate of XNNPACK that computes the weight of a linear itself gives wrong results.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from torch.fx.node import map_arg

from polystate.export.graph.signature import added_constant, stored

aten = torch.ops.aten
operators = torch.ops.polystate

# Operators that read weights, and which arguments these are.
_READERS: dict[Any, tuple[int, ...]] = {
    aten.addmm.default: (0, 2),
    aten.conv1d.default: (1, 2),
    aten.conv2d.default: (1, 2),
    aten.conv3d.default: (1, 2),
    aten.conv_transpose1d.default: (1, 2),
    aten.conv_transpose2d.input: (1, 2),
    aten.conv_transpose3d.input: (1, 2),
    aten.convolution.default: (1, 2),
    aten.embedding.default: (0,),
    aten.linear.default: (1, 2),
    aten.mm.default: (1,),
    operators.packed_linear.default: (1, 3),
    operators.recurrence.default: (3, 4, 5),
}

# XNNPACK stores what these read in another order, in which a part of it is another part.
_CONVOLUTIONS = {
    aten.conv1d.default,
    aten.conv2d.default,
    aten.conv_transpose1d.default,
    aten.conv_transpose2d.input,
    aten.convolution.default,
}

_CONSTANTS = {InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR}


def compute_constant_weights(program: ExportedProgram, state: Collection[str]) -> None:
    """Replace weights that follow from constants alone by constants; `state` is not constant."""
    found = _Constants(program, state)
    for reader in list(program.graph.nodes):
        for place in _READERS.get(reader.target, ()):
            if place < len(reader.args):
                given = reader.args[place]
                weight = given if reader.target in _CONVOLUTIONS else _viewed(given)
                if weight in found.nodes and weight.op != "placeholder":
                    weight.replace_all_uses_with(found.constant(weight))
                elif weight in found.nodes and _is_shared(reader, weight):
                    reader.replace_input_with(weight, found.constant(weight))
    found.drop_unused()
    program.graph_module.recompile()


def _is_shared(reader: Node, weight: Node) -> bool:
    """Whether others than convolutions read what a convolution does."""
    return reader.target in _CONVOLUTIONS and any(
        user.target not in _CONVOLUTIONS for user in weight.users
    )


def _viewed(weight: Any) -> Any:
    """What a weight is a view of, which costs nothing at a call."""
    while isinstance(weight, Node) and isinstance(weight.target, torch._ops.OpOverload):
        (returned, *_) = weight.target._schema.returns
        if returned.alias_info is None:
            break
        weight = weight.args[0]
    return weight


class _Constants:
    """The nodes that follow from constants alone, in the graph's order, and their values."""

    def __init__(self, program: ExportedProgram, state: Collection[str]) -> None:
        self._program = program
        self.nodes: dict[Node, None] = {}
        self._values: dict[Node, Tensor] = {}
        named = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
        for spec in program.graph_signature.input_specs:
            name = str(spec.target)
            if spec.kind in _CONSTANTS and name not in state:
                self.nodes[named[spec.arg.name]] = None
                self._values[named[spec.arg.name]] = stored(program, name).detach()
        for node in program.graph.nodes:
            operands = node.all_input_nodes
            is_computed = isinstance(node.target, torch._ops.OpOverload) and operands
            if is_computed and all(each in self.nodes for each in operands):
                self.nodes[node] = None

    def value(self, node: Node) -> Tensor:
        if node not in self._values:
            assert callable(node.target)
            args, kwargs = map_arg((node.args, node.kwargs), self.value)
            self._values[node] = node.target(*args, **kwargs)
        return self._values[node]

    def constant(self, node: Node) -> Node:
        """A new constant with the value of a node."""
        fake, value = node.meta["val"].contiguous(), self.value(node).contiguous()
        return added_constant(self._program, "computed_weight", fake, value)

    def drop_unused(self) -> None:
        """Erases what computed weights."""
        for node in reversed(self.nodes):
            if node in self._values and not node.users and node.op != "placeholder":
                node.graph.erase_node(node)
