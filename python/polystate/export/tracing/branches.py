"""Gives branches of ``torch.cond`` and bodies of loops the form that programs have.

PyTorch refuses to make a graph functional where a branch holds a constant, such as a tensor of
numbers, or writes to one of its operands, such as a buffer. Here constants become operands, and
what a branch of ``cond`` writes to an operand becomes a result, which is written after the branch.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from polystate.errors import UnsupportedError
from polystate.export.diagnosis.lines import line_of_nodes
from polystate.export.graph.changes import is_view, memory_of
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import added_constant

aten = torch.ops.aten

_COND = torch.ops.higher_order.cond


def make_branches_functional(program: ExportedProgram) -> None:
    """Take constants and writes out of a traced program's branches.

    Raises
    ------
    UnsupportedError
        When a branch writes to a tensor of which another operand is a part.
    """
    module = program.graph_module
    for control in list(_controls(module)):
        given = []
        for constant in control.without_constants():
            node = added_constant(program, "branch_constant", constant.meta, constant.value)
            given.append(node)
        control.give(given)
        control.without_writes()
    module.recompile()


def refuse_complex_branches(program: ExportedProgram) -> None:
    """Refuse a functional program with complex numbers in branches, where nothing makes them real.

    Raises
    ------
    UnsupportedError
        With the user's line.
    """
    for control in _controls(program.graph_module):
        for body in control.bodies:
            for module in body.modules():
                nodes = module.graph.nodes if isinstance(module, GraphModule) else ()
                if any(_is_complex(node.meta.get("val")) for node in nodes):
                    raise UnsupportedError(
                        "a branch of torch.cond, or a function that torch maps, computes with "
                        "complex numbers, and programs have them as pairs of real ones elsewhere "
                        f"alone\n  at {line_of_nodes([control.node])}"
                        "\n  rewrite: compute both branches, and choose: torch.where(p, a, b)"
                    )


def _is_complex(value: Any) -> bool:
    return any(isinstance(each, Tensor) and each.is_complex() for each in _listed(value))


@dataclass(frozen=True)
class _Constant:
    """A tensor that a branch holds, and what its trace says of it."""

    value: Tensor
    meta: Any


@dataclass(frozen=True)
class _Control:
    """A call of ``cond``, ``map`` or another operator that runs graphs.

    The last argument has operands, which are the last placeholders of all its graphs.
    """

    node: Node
    bodies: list[GraphModule]

    def without_constants(self) -> list[_Constant]:
        """Turn the constants of the graphs into placeholders, for operands that are to come."""
        for body in self.bodies:
            for inner in list(_controls(body)):
                inner.give([_held(inner.node, each) for each in inner.without_constants()])
        found: dict[int, _Constant] = {}
        readers: dict[tuple[GraphModule, int], list[Node]] = {}
        for body in self.bodies:
            for node in body.graph.find_nodes(op="get_attr"):
                value = getattr(body, str(node.target), None)
                if isinstance(value, Tensor):
                    found.setdefault(id(value), _Constant(value, node.meta["val"]))
                    readers.setdefault((body, id(value)), []).append(node)
        for body in self.bodies:
            for key, constant in found.items():
                operand = _added_placeholder(body.graph, constant.meta)
                for node in readers.get((body, key), ()):
                    node.replace_all_uses_with(operand)
                    body.graph.erase_node(node)
                    if hasattr(body, str(node.target)):
                        delattr(body, str(node.target))
            body.recompile()
        return list(found.values())

    def give(self, operands: list[Node]) -> None:
        """Add operands, which have placeholders already."""
        *others, last = self.node.args
        assert isinstance(last, tuple | list)
        self.node.args = (*others, (*last, *operands))

    def without_writes(self) -> None:
        """Let branches return what they write to operands, and write it after them."""
        if self.node.target is not _COND:
            return
        for body in self.bodies:
            for inner in list(_controls(body)):
                inner.without_writes()
        operands: Any = self.node.args[3]
        written = {number for body in self.bodies for number in _written(body)}
        memory = [_memory(each) for each in operands]
        for number in sorted(written):
            if memory.count(memory[number]) > 1:
                raise UnsupportedError(
                    "a branch of torch.cond changes a tensor that it also reads by another name or "
                    "as a part, and in a program the two would differ\n"
                    f"  at {line_of_nodes([self.node])}"
                    "\n  rewrite: take the part within the branch, of the tensor that it changes"
                )
        for number in sorted(written):
            for body in self.bodies:
                _return_operand(body, number)
            self._write(operands[number])

    def _write(self, operand: Node) -> None:
        """Write the last result to an operand."""
        graph = self.node.graph
        values = (*self.node.meta["val"], operand.meta["val"])
        self.node.meta["val"] = values
        with graph.inserting_after(self.node):
            value = graph.call_function(operator.getitem, (self.node, len(values) - 1))
            value.meta = {**self.node.meta, "val": operand.meta["val"]}
        with graph.inserting_after(value):
            write = graph.call_function(aten.copy_.default, (operand, value))
            write.meta = {**self.node.meta, "val": operand.meta["val"]}


def _controls(module: GraphModule) -> Iterator[_Control]:
    for node in module.graph.nodes:
        if not isinstance(node.target, torch._ops.HigherOrderOperator):
            continue
        bodies = [
            body
            for given in node.args
            if isinstance(given, Node) and given.op == "get_attr"
            if isinstance(body := getattr(module, str(given.target), None), GraphModule)
        ]
        if bodies and isinstance(node.args[-1], tuple | list):
            yield _Control(node, bodies)


def _held(before: Node, constant: _Constant) -> Node:
    """A constant of the graph that a call is in."""
    module, graph = before.graph.owning_module, before.graph
    assert module is not None
    taken = {name for name, _ in module.named_buffers()} | set(vars(module))
    name = next(n for i in range(len(taken) + 1) if (n := f"inner_constant_{i}") not in taken)
    module.register_buffer(name, constant.value)
    with graph.inserting_before(before):
        node = graph.get_attr(name)
    node.meta = {**before.meta, "val": constant.meta}
    return node


def _added_placeholder(graph: Graph, meta: Any) -> Node:
    placeholders = graph.find_nodes(op="placeholder")
    taken = {node.target for node in placeholders}
    name = next(n for i in range(len(taken) + 1) if (n := f"operand_{i}") not in taken)
    first = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(first):
        node = graph.placeholder(name)
    node.meta["val"] = meta
    return node


def _written(body: GraphModule) -> Iterator[int]:
    """Which of its operands a branch writes to, by their numbers."""
    numbers = {node: i for i, node in enumerate(body.graph.find_nodes(op="placeholder"))}
    for node in body.graph.nodes:
        for written in _written_arguments(node):
            number = numbers.get(_memory(written))
            if number is not None:
                yield number


def _written_arguments(node: Node) -> Iterator[Node]:
    if not isinstance(node.target, torch._ops.OpOverload):
        return
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
            yield from (each for each in _listed(given) if isinstance(each, Node))


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, tuple | list) else [given]


def _memory(node: Node) -> Node:
    """The node whose memory a value lies in; what changes its first argument returns that."""
    return memory_of(node, lambda target: is_view(target) or _is_write(target))


def _is_write(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return isinstance(target, torch._ops.OpOverload) and bool(schema and schema.is_mutable)


def _return_operand(body: GraphModule, number: int) -> None:
    """Compute with a copy of an operand, and return what it is at the end."""
    graph = body.graph
    placeholders = graph.find_nodes(op="placeholder")
    operand = placeholders[number]
    users = list(operand.users)
    first = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(first):
        copy = call(graph, aten.clone.default, operand)
    for user in users:
        user.replace_input_with(operand, copy)
    output = graph.output_node()
    results: Any = output.args[0]
    with graph.inserting_before(output):
        last = call(graph, aten.clone.default, copy)
    output.args = ((*results, last),)
    body.recompile()
