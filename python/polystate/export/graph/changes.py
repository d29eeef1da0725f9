"""Gives every change of a functional graph a value of its own.

A functional graph returns the new values of buffers and inputs. One may be a value that another
one is changed to as well (``a.copy_(y); b.copy_(y)``), or what a changed buffer held before
(``a, b = b, a``). PyTorch names changes by their values, and so loses all but one of the same
value; and it decomposes a graph by running it with the changes written back one after another, and
so reads buffers that it has written already. Copies of such values keep them apart; a constant
that is returned gets one as well, since a delegate that uses it too wants it for itself.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch.export import ExportedProgram, exported_program
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node

from polystate.export.graph.scalar_tensors import call

aten = torch.ops.aten


@dataclass(frozen=True)
class _Place:
    """A buffer or an input; both may have one name."""

    is_input: bool
    name: str


_CHANGES = {OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION}


@contextlib.contextmanager
def separated_changes() -> Iterator[None]:
    """Separates the changes of every graph that PyTorch decomposes within the block."""
    decompose = exported_program._decompose_and_get_gm_with_new_signature_constants

    def decompose_and_separate(program: ExportedProgram, *args: Any, **kwargs: Any) -> Any:
        _fit_copies(program.graph_module)
        graph_module, signature, *rest = decompose(program, *args, **kwargs)
        separate_changes(graph_module, signature)
        return graph_module, signature, *rest

    with mock.patch.object(exported_program, decompose.__name__, decompose_and_separate):
        yield


def _fit_copies(graph_module: GraphModule) -> None:
    """Gives what is copied its destination's type and shape: PyTorch takes it as it is."""
    for module in graph_module.modules():
        if not isinstance(module, GraphModule):
            continue
        for node in module.graph.find_nodes(op="call_function", target=aten.copy_.default):
            destination, source, *rest = node.args
            with module.graph.inserting_before(node):
                if source.meta["val"].dtype != destination.meta["val"].dtype:
                    dtype = destination.meta["val"].dtype
                    source = call(module.graph, aten.to.dtype, source, dtype)
                if str(source.meta["val"].shape) != str(destination.meta["val"].shape):
                    source = call(module.graph, aten.expand_as.default, source, destination)
            node.args = (destination, source, *rest)
        module.recompile()


def separate_changes(graph_module: GraphModule, signature: ExportGraphSignature) -> None:
    """Copies what a graph returns twice as a change, and old values and constants that it returns.

    Changes the graph and its signature. A buffer or an input that ends with the value that it had
    is not changed, and is no longer returned.
    """
    _tell_inputs_from_buffers(graph_module, signature)
    output = graph_module.graph.output_node()
    values: Any = output.args[0]
    origins = {
        spec.arg.name: _Place(spec.kind == InputKind.USER_INPUT, spec.target or spec.arg.name)
        for spec in signature.input_specs
        if isinstance(spec.arg, TensorArgument)
    }
    places = [_changed_place(spec) for spec in signature.output_specs]
    returned = [
        (spec, value, place)
        for spec, value, place in zip(signature.output_specs, values, places, strict=True)
        if place is None or origins.get(value.name) != place
    ]
    changed = {place for _, _, place in returned if place}
    taken: set[Node] = set()
    kept = []
    for spec, value, place in returned:
        if isinstance(value, Node):
            origin = origins.get(memory_of(value, is_view).name)
            is_kept_outside = origin in changed or (origin and not origin.is_input)
            if is_kept_outside or (place and value in taken):
                value = _clone(value)
                spec.arg.name = value.name
            if place:
                taken.add(value)
        kept.append(value)
    output.args = (tuple(kept),)
    signature.output_specs[:] = [spec for spec, _, _ in returned]
    graph_module.recompile()


def _tell_inputs_from_buffers(graph_module: GraphModule, signature: ExportGraphSignature) -> None:
    """Renames changed inputs that are named as a buffer: PyTorch finds what is changed by name."""
    buffers = {spec.target for spec in signature.input_specs if spec.kind == InputKind.BUFFER}
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind != InputKind.USER_INPUT or node.name not in buffers:
            continue
        name = node.name
        node._rename(f"input_{name}")
        node.target = node.name
        for output in signature.output_specs:
            if output.kind == OutputKind.USER_INPUT_MUTATION and output.target == name:
                output.target = node.name
            elif isinstance(output.arg, TensorArgument) and output.arg.name == name:
                output.arg.name = node.name
        spec.arg.name = node.name


def _changed_place(spec: OutputSpec) -> _Place | None:
    if spec.kind not in _CHANGES:
        return None
    return _Place(spec.kind == OutputKind.USER_INPUT_MUTATION, str(spec.target))


def memory_of(node: Node, is_view: Callable[[Any], bool]) -> Node:
    """The node whose memory a value lies in; `is_view` tells of an operator's target."""
    while node.op == "call_function" and is_view(node.target):
        operand = node.args[0]
        assert isinstance(operand, Node)
        node = operand
    return node


def copied_by(value: Node, target: Callable[..., Any], **options: Any) -> Node:
    """A call of `target` on the value, right after it."""
    after = value
    if value.op == "placeholder":  # placeholders stay together
        after = [node for node in value.graph.nodes if node.op == "placeholder"][-1]
    with value.graph.inserting_after(after):
        copy = value.graph.call_function(target, (value,), options)
    copy.meta = dict(value.meta)
    return copy


def is_view(target: Any) -> bool:
    """Whether an operator gives a part of what it is given, in the same memory."""
    return target is operator.getitem or bool(getattr(target, "is_view", False))


def _clone(value: Node) -> Node:
    copy = copied_by(value, aten.clone.default, memory_format=torch.contiguous_format)
    copy.meta["val"] = value.meta["val"].contiguous()
    return copy
