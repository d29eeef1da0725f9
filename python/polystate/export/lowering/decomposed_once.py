"""Leaves out decompositions that change nothing: each traces the whole graph again.

ExecuTorch decomposes a program up to three times: with an empty table, so that it is functional;
with what the backend does not keep; and with what it kept and does not take after all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

aten = torch.ops.aten

# What their decompositions leave as they are where they were decomposed before.
_SETTLED = {aten.view.default, aten.sym_size.int}


@contextlib.contextmanager
def decomposed_once() -> Iterator[None]:
    """Within the block a program is decomposed again only where an operator would be."""
    decompose = ExportedProgram.run_decompositions
    decomposed: list[ExportedProgram] = []

    def decompose_what_is_left(
        program: ExportedProgram, table: Mapping[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        was_decomposed = any(program is each for each in decomposed)
        if table is not None and (was_decomposed or not table) and not _has_any(program, table):
            return program
        decomposed.append(decompose(program, table, **options))
        return decomposed[-1]

    with mock.patch.object(ExportedProgram, decompose.__name__, decompose_what_is_left):
        yield


def _has_any(program: ExportedProgram, table: Mapping[Any, Any]) -> bool:
    """Whether a graph, or a branch in it, has an operator that the table or tracing replaces."""
    graphs = [
        each.graph for each in program.graph_module.modules() if isinstance(each, GraphModule)
    ]
    called = {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}
    return any(
        (each in table and each not in _SETTLED)
        or (isinstance(each, torch._ops.OpOverload) and each._schema.is_mutable)
        for each in called
    )
