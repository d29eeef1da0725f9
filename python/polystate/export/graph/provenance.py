"""Where the values of a tensor in a graph come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from polystate.export.graph.signature import Argument, tensor_arguments

aten = torch.ops.aten

INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}

# The result has the elements of the first operand, each at least once, and nothing else.
_SAME_ELEMENTS = {
    aten.alias.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.detach_.default,
    aten.expand.default,
    aten.flatten.using_ints,
    aten.lift_fresh_copy.default,
    aten.permute.default,
    aten.reshape.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.t.default,
    aten.transpose.int,
    aten.unflatten.int,
    aten.unsqueeze.default,
    aten.view.default,
    aten._unsafe_view.default,
}

_CASTS = {
    aten._to_copy.default,
    aten.to.dtype,
    aten.to.dtype_layout,
}

# The result has the dimensions of the first operand, of which it is a part or a copy with some
# elements replaced.
_SAME_DIMENSIONS = {
    aten.alias.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.copy.default,
    aten.detach.default,
    aten.index_copy.default,
    aten.index_put.default,
    aten.scatter.src,
    aten.scatter.value,
    aten.select_scatter.default,
    aten.slice.Tensor,
    aten.slice_scatter.default,
}


class Provenance:
    """Follows tensors of one method's graph back to its inputs."""

    def __init__(self, exported: ExportedProgram) -> None:
        self._inputs: dict[Node, Argument] = {a.node: a for a in tensor_arguments(exported)}
        self._owned = _owned_tensors(exported)

    @property
    def names(self) -> Mapping[Node, str]:
        """The names of inputs, weights and state by their placeholders."""
        return {**self._owned, **{node: a.name for node, a in self._inputs.items()}}

    def input_of(self, node: Any) -> Argument | None:
        """Find the integer input whose elements are all in `node`, and no others."""
        while isinstance(node, Node) and node not in self._inputs:
            node = operand_of_same_values(node)
        return self._inputs.get(node) if isinstance(node, Node) and _is_integer(node) else None

    def name_of(self, node: Any) -> str | None:
        """Name the buffer, parameter or input whose dimensions `node` has; None: another tensor."""
        while isinstance(node, Node) and node.op == "call_function":
            if node.target not in _SAME_DIMENSIONS:
                return None
            node = node.args[0]
        if node in self._inputs:
            return self._inputs[node].name
        return self._owned.get(node)


def keeps_elements(node: Node) -> bool:
    """Tell whether a node has all elements of its first operand and no others."""
    return node.target in _SAME_ELEMENTS or _is_check(node) or _selects_all(node)


def _is_integer(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype in INTEGERS


def operand_of_same_values(node: Node) -> Node | None:
    """Return the first operand of an operator that keeps every value; None for other operators."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    operand = node.args[0]
    if keeps_elements(node):
        return operand
    if node.target in _CASTS and _widens(operand, node):
        return operand
    return None


def _is_check(node: Node) -> bool:
    return str(node.target).startswith("polystate.check")


def _selects_all(node: Node) -> bool:
    """Tell whether a node selects from a dimension of one element."""
    if node.target != aten.select.int:
        return False
    source, dimension, _ = node.args
    assert isinstance(source, Node) and isinstance(dimension, int)
    size = source.meta["val"].shape[dimension]
    return isinstance(size, int) and size == 1


def _widens(source: Node, result: Node) -> bool:
    """Tell whether a cast between integer types keeps every value."""
    if not (_is_integer(source) and _is_integer(result)):
        return False
    before, after = (torch.iinfo(node.meta["val"].dtype) for node in (source, result))
    return after.min <= before.min and before.max <= after.max


def _owned_tensors(exported: ExportedProgram) -> Mapping[Node, str]:
    placeholders: Sequence[Node] = [n for n in exported.graph.nodes if n.op == "placeholder"]
    return {
        node: spec.target
        for node, spec in zip(placeholders, exported.graph_signature.input_specs, strict=True)
        if spec.kind in (InputKind.BUFFER, InputKind.PARAMETER) and spec.target is not None
    }
