"""Has a method write its states after all of its checks, so that one that fails changes none.

A new value goes into the state's memory when it is known, and so after every check that it depends
on; but an operator that changes a part of a state may do so at once. Where a check comes later,
since it looks at what was changed or is inside a branch, the method changes a copy of the state,
and writes that back after the check.

Needs a functional program with its checks (contract/checks.py), for AOTInductor. Keeps what the
method computes and returns.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Hashable
from dataclasses import dataclass, field

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, Node

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.writers import part_writers
from polystate.export.lowering.in_place import is_check, tested_condition

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
    order = _Order.of(program.graph, set(states.values()))
    output = program.graph.output_node()
    (results,) = output.args
    assert isinstance(results, tuple)
    values, copied = list(results), set()
    first = next(node for node in program.graph.nodes if node.op != "placeholder")
    for position, spec in enumerate(signature.output_specs):
        value = values[position]
        if spec.kind != OutputKind.BUFFER_MUTATION or not isinstance(value, Node):
            continue
        if value in order.too_soon:
            _copy_first(states[str(spec.target)], first, output)
            copied.add(str(spec.target))
        missing = order.missing(value)
        if missing:
            with program.graph.inserting_before(output):
                values[position] = call(program.graph, _COPY, value, missing)
            spec.arg.name = values[position].name
    output.args = (tuple(values),)
    program.graph_module.recompile()
    return copied


def _copy_first(state: Node, first: Node, output: Node) -> None:
    """Has all that reads a state read a copy of it, which is made before a node."""
    users = [user for user in state.users if user is not output]
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
        What has been checked before a node: a bit for each of `checks`, in their order.
    too_soon
        The nodes that depend on what may change a state at once, before a check.
    """

    checks: dict[Hashable, Node] = field(default_factory=dict)
    done: dict[Node, int] = field(default_factory=dict)
    too_soon: set[Node] = field(default_factory=set)

    @classmethod
    def of(cls, graph: Graph, states: set[Node]) -> _Order:
        """Reads a graph; `states` are those that it changes."""
        order = cls()
        bits: dict[Hashable, int] = {}
        for node in graph.nodes:
            done = functools.reduce(
                operator.or_, (order.done[operand] for operand in node.all_input_nodes), 0
            )
            condition = tested_condition(node)
            if condition is not None and (is_check(node) or node.users):
                order.checks[condition] = node if is_check(node) else next(iter(node.users))
                done |= bits.setdefault(condition, 1 << len(bits))
            order.done[node] = done
        writers = part_writers(graph, states)
        for node in graph.nodes:
            is_early = node in writers and not order.is_last(node)
            if is_early or any(operand in order.too_soon for operand in node.all_input_nodes):
                order.too_soon.add(node)
        return order

    def is_last(self, node: Node) -> bool:
        """Whether every check comes before a node."""
        return self.done[node] == (1 << len(self.checks)) - 1

    def missing(self, node: Node) -> list[Node]:
        """For each check that may come after a node, a tensor that is known after the check."""
        if self.is_last(node):
            return []
        known = enumerate(self.checks.values())
        return [tensor for bit, tensor in known if not self.done[node] >> bit & 1]
