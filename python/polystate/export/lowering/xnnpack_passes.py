"""Spares XNNPACK's passes what changes nothing.

Each of its seventeen passes ends by tracing the delegate's graph again, and is followed by checks
of the whole program, whether or not the pass found anything to change.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from executorch.backends.xnnpack import _passes
from executorch.exir.pass_base import ExportPass, _ExportPassBase
from executorch.exir.program._program import _update_exported_program_graph_module
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

# What a pass overrides that changes a graph while it is traced.
_TRACING = [name for name, own in vars(_ExportPassBase).items() if callable(own)]
_TRACING.remove("__init__")
_TRACING.remove("call")


@contextlib.contextmanager
def traced_where_they_change() -> Iterator[None]:
    """Within the block they trace and check a delegate's graph again only after a change of it."""
    transform = _passes.XNNPACKPassManager.transform

    def transform_sparingly(self: _passes.XNNPACKPassManager) -> ExportedProgram:
        with (
            mock.patch.object(_ExportPassBase, "call", _traced_where_changed()),
            mock.patch.object(_passes, "_transform", _transformed_where_changed),
        ):
            program: ExportedProgram = transform(self)
            return program

    with mock.patch.object(_passes.XNNPACKPassManager, "transform", transform_sparingly):
        yield


def _traced_where_changed() -> Callable[[Any, GraphModule], PassResult]:
    trace = _ExportPassBase.call
    traced: list[Any] = []  # the state of the graph that was traced last

    def trace_where_changed(self: Any, graph_module: GraphModule) -> PassResult:
        nonlocal traced
        if _only_traces(type(self)) and _is_same(traced, _state(graph_module)):
            return PassResult(graph_module, False)
        result: PassResult = trace(self, graph_module)
        traced = _state(result.graph_module)
        return result

    return trace_where_changed


def _transformed_where_changed(
    program: ExportedProgram, run: Callable[[GraphModule], PassResult]
) -> ExportedProgram:
    before = _state(program.graph_module)
    result = run(program.graph_module)
    if _is_same(before, _state(result.graph_module)):
        return program
    changed: ExportedProgram = _update_exported_program_graph_module(program, result.graph_module)
    return changed


def _only_traces(kind: type[Any]) -> bool:
    return all(getattr(kind, name) is getattr(ExportPass, name) for name in _TRACING)


def _state(graph_module: GraphModule) -> list[Any]:
    """What a graph's nodes are, do and give: other objects where any of it was changed."""
    nodes = graph_module.graph.nodes
    if any(node.op == "get_attr" for node in nodes):
        return [object()]  # what lies there may have been changed
    return [
        part
        for node in nodes
        for part in (node, node.target, node.args, node.kwargs, node.meta.get("val"))
    ]


def _is_same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))
