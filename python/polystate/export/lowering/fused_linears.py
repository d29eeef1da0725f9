"""Lets products of packed weights do what follows them: add, activate, give rows a shape.

What a product does itself needs no pass of its own over its results, which may be as large as the
logits of all rows. Needs the functional program before it is lowered. Keeps what the method
computes, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from polystate import ops  # noqa: F401  (defines the operators)
from polystate.export.graph.operands import all_operands
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

_ACTIVATIONS: dict[Any, str] = {aten.relu.default: "relu", aten.silu.default: "silu"}


# Each has the arguments `x`, `bias`, `addend` and `activation`.
_LINEARS = (
    torch.ops.polystate.packed_linear.default,
    torch.ops.polystate.quantized_linear.default,
    torch.ops.polystate.groupwise_linear.default,
)


def fuse_into_linears(program: ExportedProgram) -> None:
    """Fuses products with what follows them in a functional program, branches included."""
    for graph in changed_graphs(program):
        for target in _LINEARS:
            for node in graph.find_nodes(op="call_function", target=target):
                linear: Node | None = node
                while linear is not None and not _changes_state(program, linear):
                    linear = _fused_with_its_user(graph, linear)
    rename_outputs(program)


def _changes_state(program: ExportedProgram, linear: Node) -> bool:
    """Whether a product is added to a state, which an operator of its own can do in place."""
    changed = program.graph_signature.buffers_to_mutate
    return linear.graph is program.graph and any(
        user.name in changed and user.target == aten.add.Tensor for user in linear.users
    )


def _fused_with_its_user(graph: Graph, linear: Node) -> Node | None:
    """A product that does what the only user of one does, in its place; None where it cannot."""
    if len(linear.users) != 1 or linear.kwargs:
        return None
    (user,) = linear.users
    fuse = _FUSIONS.get(user.target)
    if fuse is None:
        return None
    with graph.inserting_before(user):
        arguments = fuse(graph, linear, user)
        if arguments is None:
            return None
        assert callable(linear.target)
        fused = call(graph, linear.target, *arguments.values())
    user.replace_all_uses_with(fused)
    graph.erase_node(user)
    graph.erase_node(linear)
    return fused


# By the names of the operator's schema, in its order.
_Arguments = dict[str, Any]


def _with_copy(graph: Graph, linear: Node, clone: Node) -> _Arguments | None:
    """A copy of a result that nothing else reads is the result."""
    return None if clone.kwargs else all_operands(linear)


def _with_sum(graph: Graph, linear: Node, add: Node) -> _Arguments | None:
    given = all_operands(linear)
    other = add.args[1] if add.args[0] is linear else add.args[0]
    if add.kwargs or given["addend"] is not None or not isinstance(other, Node) or other is linear:
        return None
    result, value = linear.meta["val"], other.meta["val"]
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return None
    if given["bias"] is None and given["activation"] == "none" and _is_row_for(result, value):
        row = call(graph, aten.view.default, other, [result.shape[-1]])
        return {**given, "bias": row}
    return {**given, "addend": other} if _same_sizes(value.shape, result.shape) else None


def _with_activation(graph: Graph, linear: Node, user: Node) -> _Arguments | None:
    given = all_operands(linear)
    if given["addend"] is not None or given["activation"] != "none":
        return None
    return {**given, "activation": _ACTIVATIONS[user.target]}


def _with_shape(graph: Graph, linear: Node, view: Node) -> _Arguments | None:
    given = all_operands(linear)
    x, shape = given["x"], view.meta["val"].shape
    sizes: Any = view.args[1]
    if given["addend"] is not None or not _same_sizes(shape[-1:], linear.meta["val"].shape[-1:]):
        return None
    if not x.meta["val"].is_contiguous():  # the result is, so that only it can be viewed
        return None
    rows = call(graph, aten.view.default, x, [*sizes[:-1], x.meta["val"].shape[-1]])
    return {**given, "x": rows}


_FUSIONS: dict[Any, Callable[[Graph, Node, Node], _Arguments | None]] = {
    aten.clone.default: _with_copy,
    aten.add.Tensor: _with_sum,
    **dict.fromkeys(_ACTIVATIONS, _with_activation),
    aten.view.default: _with_shape,
}


def _is_row_for(result: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a value [..., 1, columns] is added to all rows of a result alike."""
    return (
        0 < value.dim() <= result.dim()
        and _same_sizes(value.shape[-1:], result.shape[-1:])
        and _same_sizes(value.shape[:-1], [1] * (value.dim() - 1))
    )


def _same_sizes(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(
        statically_known_true(m == n) for m, n in zip(left, right, strict=True)
    )
