"""Updates state in place where that is sound; elsewhere the write-back at the end stays.

Needs a method's graph with out-variants, just before memory is planned: ``copy_(state, value)`` at
its end for every changed state, old values that are outputs copied (old_values). Keeps what the
method computes.

A value may be computed straight into the state's memory when

- nothing reads the old value after it: no later operator, no view of the state;
- its own operator reads the old value element by element, at the place that it writes, or not at
  all; or it changes a part of the state and has a form that changes just that part;
- no check comes after it, so that a check that fails leaves the state as it was;
- it is large, or nothing that can fail comes after it: small state is written last, which makes
  the method atomic.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from executorch.exir import memory
from executorch.exir.operator.convert import is_out_variant
from torch.export.graph_signature import ExportGraphSignature, OutputKind

import polystate.ops  # noqa: F401  (registers the operators that change a part of a tensor)
from polystate.export.graph.operands import given_arguments
from polystate.export.graph.writers import SMALL

# Each element of the result depends on the operands' elements at the same place only.
_ELEMENTWISE_NAMES = """
    abs add atan atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp copy cos cosh div
    elu eq erf exp expm1 floor floor_divide fmod ge gelu gt hardtanh le leaky_relu log log1p log2
    log10 logical_and logical_not logical_or logical_xor lt masked_fill maximum minimum mul ne neg
    pow reciprocal relu remainder round rsqrt rsub sigmoid sign sin sinh sqrt sub tan tanh trunc
    where
"""
ELEMENTWISE = frozenset(f"aten::{name}" for name in _ELEMENTWISE_NAMES.split())

# Operators that change a part of their first operand; the form that does so in place, and the
# defaults of its arguments (all of which a program must give).
_INDEX_PUT = "polystate_faster::index_put"
_PARTIAL: dict[str, tuple[torch._ops.OpOverload, tuple[object, ...]]] = {
    _INDEX_PUT: (torch.ops.polystate.index_put_.default, (None, None, None, False)),
    "aten::select_scatter": (torch.ops.polystate.select_scatter_.default, (None, None, 0, 0)),
    "aten::slice_scatter": (
        torch.ops.polystate.slice_scatter_.default,
        (None, None, 0, 0, torch.iinfo(torch.int64).max, 1),
    ),
}


@dataclass(frozen=True)
class Update:
    """How a method updates one state, and why so."""

    state: str
    how: Literal["in_place", "written_back"]
    reason: str


@dataclass(frozen=True)
class Updates:
    """The updates of one method.

    Attributes
    ----------
    atomic
        A failed call leaves every state as it was.
    checks_first
        A failed check does: no check comes after a write.
    """

    updates: list[Update]
    atomic: bool
    checks_first: bool


def update_in_place(graph_module: torch.fx.GraphModule, signature: ExportGraphSignature) -> Updates:
    """Rewrites the graph and its signature, and says what it did."""
    graph = graph_module.graph
    states = {
        node: signature.inputs_to_buffers[node.name]
        for node in graph.nodes
        if node.op == "placeholder" and node.name in signature.inputs_to_buffers
    }
    updates, order, values = [], _Order.of(graph), {}
    for write in [node for node in graph.nodes if _is_write_back(node, states)]:
        state = write.args[0]
        obstacle = _obstacle(order, write)
        if obstacle is None:
            values[write] = _compute_into(graph, write)
            updates.append(Update(states[state], "in_place", "nothing reads the old value later"))
        else:
            updates.append(Update(states[state], "written_back", obstacle))
    _put_out(graph, values, signature)
    for name, writer in _changed_by_operators(graph, states, signature).items():
        updates.append(Update(name, "in_place", f"'{_short(writer)}' changes it in place"))
    graph.lint()
    graph_module.recompile()
    later = _after_the_first_write(graph, states)
    return Updates(
        updates,
        atomic=not any(map(_can_fail, later)),
        checks_first=not _deciding_checks(graph) & set(later),
    )


def _is_write_back(node: torch.fx.Node, states: Mapping[torch.fx.Node, str]) -> bool:
    return (
        node.op == "call_function"
        and node.target == torch.ops.aten.copy_.default
        and node.args[0] in states
    )


@dataclass(frozen=True)
class _Order:
    """In which order a graph computes.

    Attributes
    ----------
    places
        Of each node, counted from 0.
    last_check, last_failing
        The places of the last check that an earlier one does not decide, and of the last node that
        can end the call; -1 without any.
    """

    places: Mapping[torch.fx.Node, int]
    last_check: int
    last_failing: int

    @classmethod
    def of(cls, graph: torch.fx.Graph) -> _Order:
        places = {node: place for place, node in enumerate(graph.nodes)}
        return cls(
            places,
            max((places[node] for node in _deciding_checks(graph)), default=-1),
            max((place for node, place in places.items() if _can_fail(node)), default=-1),
        )


def _obstacle(order: _Order, write: torch.fx.Node) -> str | None:
    """Why the value cannot be computed into the state's memory; None where it can."""
    state, value = write.args[0], write.args[1]
    assert isinstance(state, torch.fx.Node) and isinstance(value, torch.fx.Node)
    if value.op == "placeholder":
        return f"it is copied from '{value.name}'"
    if not _has_one_out(value):
        return f"it comes from '{_short(value)}', which cannot write to a given place"
    old, new = state.meta["val"], value.meta["val"]
    if old.dtype != new.dtype or old.shape != new.shape:
        return "its value has another type or shape"
    place = order.places[value]
    for reader in _readers(state):
        if reader is not write and reader is not value and order.places[reader] > place:
            return f"'{_short(reader)}' reads the old value later"
    base = _schema(value).name
    is_elementwise = f"aten::{base.partition('::')[2]}" in ELEMENTWISE  # by a kernel of ours, too
    if _reads(value, state) and not (
        (is_elementwise and _reads_directly(value, state)) or base in _PARTIAL
    ):
        return f"'{_short(value)}' reads the old value while it writes the new one"
    if base in _PARTIAL and (reason := _partial_obstacle(value, state)):
        return reason
    if order.last_check > place:
        return "a check comes later"
    if order.last_failing > place and old.numel() * old.element_size() < SMALL:
        size = old.numel() * old.element_size()
        return f"small ({size} bytes): written last, so that a failed call changes nothing"
    return None


def _compute_into(graph: torch.fx.Graph, write: torch.fx.Node) -> torch.fx.Node:
    """Has a new value computed into the state's memory, and gives it."""
    state, value = write.args[0], write.args[1]
    assert isinstance(state, torch.fx.Node) and isinstance(value, torch.fx.Node)
    allocation = value.kwargs["out"]
    assert isinstance(allocation, torch.fx.Node)
    base = _schema(value).name
    if base in _PARTIAL:
        value.target, defaults = _PARTIAL[base]
        value.args, value.kwargs = _complete(value, defaults), {}
    else:
        value.kwargs = {**value.kwargs, "out": state}
    value.meta["spec"] = state.meta["spec"]
    graph.erase_node(allocation)
    return value


def _put_out(
    graph: torch.fx.Graph,
    values: Mapping[torch.fx.Node, torch.fx.Node],
    signature: ExportGraphSignature,
) -> None:
    """Has a graph return values in place of their copies; all at once, as there may be many."""
    names = {write.name: value.name for write, value in values.items()}
    for spec in signature.output_specs:
        if spec.kind == OutputKind.BUFFER_MUTATION:
            spec.arg.name = names.get(spec.arg.name, spec.arg.name)
    output = graph.output_node()
    output.args = torch.fx.map_arg(output.args, lambda node: values.get(node, node))
    for write, value in values.items():
        write.replace_all_uses_with(value)
        graph.erase_node(write)


def _partial_obstacle(value: torch.fx.Node, state: torch.fx.Node) -> str | None:
    if value.args[0] is not state or any(_touches(arg, state) for arg in value.args[1:]):
        return f"'{_short(value)}' changes a part of another value"
    if _written(value).meta["val"].dtype != state.meta["val"].dtype:
        return f"'{_short(value)}' writes elements of another type"
    return None


def _written(partial: torch.fx.Node) -> torch.fx.Node:
    """What a partial operator writes into its first operand."""
    written = partial.args[2 if _schema(partial).name == _INDEX_PUT else 1]
    assert isinstance(written, torch.fx.Node)
    return written


def _complete(node: torch.fx.Node, defaults: tuple[object, ...]) -> tuple[Any, ...]:
    """A partial operator's arguments in full; None stands for the default, as aten has it."""
    assert isinstance(node.target, torch._ops.OpOverload)
    given = given_arguments(node.target, node.args, node.kwargs)
    names = (argument.name for argument in _schema(node).arguments)
    return tuple(
        default if given.get(name) is None else given[name]
        for name, default in zip(names, defaults, strict=False)
    )


def _schema(node: torch.fx.Node) -> torch.FunctionSchema:
    assert isinstance(node.target, torch._ops.OpOverload)
    return node.target._schema


def _has_one_out(node: torch.fx.Node) -> bool:
    out = node.kwargs.get("out")
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and is_out_variant(node.target._schema.name, node.target._schema.overload_name)
        and isinstance(out, torch.fx.Node)
        and out.target == memory.alloc
    )


def _readers(state: torch.fx.Node) -> list[torch.fx.Node]:
    """Every node that reads the state's memory by its old value, through views too."""
    readers: list[torch.fx.Node] = []
    for user in state.users:
        readers.append(user)
        if user.op == "call_function" and user.target == memory.view:
            readers.extend(_readers(user))
    return readers


def _reads(node: torch.fx.Node, state: torch.fx.Node) -> bool:
    return node in _readers(state)


def _reads_directly(node: torch.fx.Node, state: torch.fx.Node) -> bool:
    """Whether all that the node reads of the state is the state itself, not a view of it."""
    views = {reader for reader in _readers(state) if reader.target == memory.view}
    return not views.intersection(node.all_input_nodes)


def _touches(argument: Any, state: torch.fx.Node) -> bool:
    aliases = {state, *(r for r in _readers(state) if r.target == memory.view)}
    found: list[torch.fx.Node] = []
    torch.fx.map_arg(argument, found.append)
    return any(node in aliases for node in found)


def is_check(node: torch.fx.Node) -> bool:
    """Whether a node fails the call when a condition on values does not hold."""
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.name.startswith("polystate::check")
    )


def holds_check(node: torch.fx.Node) -> bool:
    """Whether a node is a check, or runs graphs in which there is one."""
    if is_check(node):
        return True
    owner = node.graph.owning_module
    assert owner is not None
    names = [str(each.target) for each in node.all_input_nodes if each.op == "get_attr"]
    graphs = [operator.attrgetter(name)(owner) for name in names]
    return any(
        holds_check(inside)
        for graph in graphs
        if isinstance(graph, torch.fx.GraphModule)
        for inside in graph.graph.nodes
    )


def tested_condition(node: torch.fx.Node) -> Hashable:
    """What a check tests, equal for checks that test the same; of others that hold checks, itself.

    None where a node holds no check.
    """
    if is_check(node):
        return node.args[1:]
    return node if holds_check(node) else None


def _deciding_checks(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The first nodes of a graph that test each of its conditions; later ones cannot fail."""
    first: dict[Hashable, torch.fx.Node] = {}
    for node in graph.nodes:
        first.setdefault(tested_condition(node), node)
    first.pop(None, None)
    return set(first.values())


def _can_fail(node: torch.fx.Node) -> bool:
    """Whether running a node can end the call; copies of equal type and shape cannot."""
    return node.op == "call_function" and node.target not in (
        memory.alloc,
        memory.view,
        torch.ops.aten.copy_.default,
    )


def _changed_by_operators(
    graph: torch.fx.Graph, states: Mapping[torch.fx.Node, str], signature: ExportGraphSignature
) -> dict[str, torch.fx.Node]:
    """States which the user's own operators change, with the operator that does so."""
    changed: dict[str, torch.fx.Node] = {}
    written = {
        spec.arg.name: spec.target
        for spec in signature.output_specs
        if spec.kind == OutputKind.BUFFER_MUTATION
    }
    ours = {target for target, _ in _PARTIAL.values()} | {torch.ops.aten.copy_.default}
    for node in graph.nodes:
        if (
            node.name in written
            and node.target not in ours
            and node.kwargs.get("out") not in states
        ):
            writer: torch.fx.Node | None = node
            if node.op == "placeholder":  # of an operator with another result, or of none
                writers = (user for user in reversed(node.users) if _writes(user, {node: ""}))
                writer = next(writers, None)
            if writer is not None:
                changed[str(written[node.name])] = writer
    return changed


def _after_the_first_write(
    graph: torch.fx.Graph, states: Mapping[torch.fx.Node, str]
) -> list[torch.fx.Node]:
    unwritten = itertools.dropwhile(lambda node: not _writes(node, states), graph.nodes)
    return list(unwritten)[1:]


def _writes(node: torch.fx.Node, states: Mapping[torch.fx.Node, str]) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    if node.kwargs.get("out") in states:
        return True
    schema = node.target._schema
    return any(
        argument.alias_info is not None and argument.alias_info.is_write and value in states
        for argument, value in zip(schema.arguments, node.args, strict=False)
    )


def _short(node: torch.fx.Node) -> str:
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target._schema.name.partition("::")[2])
    return "output" if node.op == "output" else str(getattr(node.target, "__name__", node.target))
