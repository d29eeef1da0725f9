"""Leaves out decompositions that change nothing: each traces the whole graph again.

ExecuTorch decomposes a program up to three times: with an empty table, which makes it functional;
with operators that the backend does not keep; and with those that it kept and then did not take.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule


@contextlib.contextmanager
def decomposed_once() -> Iterator[None]:
    """Decompose a program again, within the block, only if that would replace an operator.

    Operators of a table that are left after it was applied would be left again.
    """
    decompose: Callable[..., ExportedProgram] = ExportedProgram.run_decompositions
    decomposed: list[tuple[ExportedProgram, Mapping[Any, Any]]] = []

    def decompose_what_is_left(
        program: ExportedProgram, table: Mapping[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        if table is None:
            return decompose(program, table, **options)
        tables = [before.keys() for result, before in decomposed if result is program]
        if (tables or not table) and not _has_any(program, table.keys() - set().union(*tables)):
            return program
        decomposed.append((decompose(program, table, **options), table))
        return decomposed[-1][0]

    with mock.patch.object(ExportedProgram, decompose.__name__, decompose_what_is_left):
        yield


def _has_any(program: ExportedProgram, operators: Collection[Any]) -> bool:
    """Whether a graph, or a branch in it, has one of the operators or one that tracing replaces."""
    graphs = [
        each.graph for each in program.graph_module.modules() if isinstance(each, GraphModule)
    ]
    called = {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}
    return any(
        each in operators or (isinstance(each, torch._ops.OpOverload) and each._schema.is_mutable)
        for each in called
    )
