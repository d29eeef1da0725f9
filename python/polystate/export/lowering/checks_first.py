"""Has a method write its states after all of its checks, so that one that fails changes none.

A new value goes into the state's memory when it is known, and so after every check that it depends
on; but an operator that changes a part of a state may do so at once. Where a check comes later,
since it looks at what was changed or is inside a branch, the method changes a copy of the state,
and writes that back after the check.

Needs a functional program with its checks (contract/checks.py), for AOTInductor. Keeps what the
method computes and returns.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.writers import part_writers
from polystate.export.lowering.in_place import is_check

_COPY = torch.ops.polystate.copy_after.default


def write_after_checks(program: ExportedProgram) -> set[str]:
    """Insert the copies, in place, and tell the names of the states that are changed in copies."""
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    states = {
        signature.inputs_to_buffers[node.name]: node
        for node in program.graph.find_nodes(op="placeholder")
        if signature.inputs_to_buffers.get(node.name) in changed
    }
    order = _Order.of(program.graph_module, set(states.values()))
    output = program.graph.output_node()
    (results,) = output.args
    assert isinstance(results, tuple)
    values, copied = list(results), set()
    for position, spec in enumerate(signature.output_specs):
        value = values[position]
        if spec.kind != OutputKind.BUFFER_MUTATION or not isinstance(value, Node):
            continue
        if any(order.missing(part) for part in order.parts[value]):
            _copy_first(states[str(spec.target)], output)
            copied.add(str(spec.target))
        missing = order.missing(value)
        if missing:
            with program.graph.inserting_before(output):
                values[position] = call(program.graph, _COPY, value, missing)
            spec.arg.name = values[position].name
    output.args = (tuple(values),)
    program.graph_module.recompile()
    return copied


def _copy_first(state: Node, output: Node) -> None:
    """Has all that reads a state read a copy of it."""
    users = [user for user in state.users if user is not output]
    first = next(node for node in state.graph.nodes if node.op != "placeholder")
    with state.graph.inserting_before(first):
        copy = call(state.graph, _COPY, state, [])
    for user in users:
        user.replace_input_with(state, copy)


@dataclass
class _Order:
    """What comes before each node of a graph.

    Attributes
    ----------
    checks
        By what is checked, a tensor that is known when that is done. The same may be checked
        several times.
    done
        What has been checked before a node.
    parts
        What a node depends on that may change a state at once.
    """

    checks: dict[Hashable, Node] = field(default_factory=dict)
    done: dict[Node, set[Hashable]] = field(default_factory=dict)
    parts: dict[Node, set[Node]] = field(default_factory=dict)

    @classmethod
    def of(cls, module: GraphModule, states: set[Node]) -> _Order:
        """Reads a graph; `states` are those that it changes."""
        order, writers = cls(), part_writers(module.graph, states)
        for node in module.graph.nodes:
            operands = node.all_input_nodes
            order.done[node] = set().union(*(order.done[each] for each in operands))
            order.parts[node] = set().union(*(order.parts[each] for each in operands))
            if node in writers:
                order.parts[node].add(node)
            if is_check(node):
                order.checks[node.args[1:]] = node
                order.done[node].add(node.args[1:])
            elif _holds_checks(module, node) and node.users:
                order.checks[node] = next(iter(node.users))
                order.done[node].add(node)
        return order

    def missing(self, node: Node) -> list[Node]:
        """For each check that may come after a node, a tensor that is known after the check."""
        return [self.checks[condition] for condition in self.checks.keys() - self.done[node]]


def _holds_checks(module: GraphModule, node: Node) -> bool:
    """Whether a node runs graphs in which there are checks."""
    if node.op != "call_function":
        return False
    names = [str(each.target) for each in node.all_input_nodes if each.op == "get_attr"]
    graphs = [getattr(module, name) for name in names]
    return any(
        is_check(inside) or _holds_checks(graph, inside)
        for graph in graphs
        if isinstance(graph, GraphModule)
        for inside in graph.graph.nodes
    )
