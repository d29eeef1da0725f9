"""Leaves out decompositions that change nothing: each traces the whole graph again.

ExecuTorch decomposes a program up to three times: with an empty table, which makes it functional;
with operators that the backend does not keep; and with those that it kept and then did not take.
Half of the small programs have none of these operators. What a decomposition writes is corrected
here, before ExecuTorch goes on with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch._export import utils
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule


@contextlib.contextmanager
def decomposed_once(rewrite: Callable[[ExportedProgram], None]) -> Iterator[None]:
    """Decompose a program again, within the block, only if that would replace an operator.

    Operators of a table that are left after it was applied would be left again.

    Parameters
    ----------
    rewrite
        Changes a program that was decomposed, in place.
    """
    decompose: Callable[..., ExportedProgram] = ExportedProgram.run_decompositions
    decomposed: list[tuple[ExportedProgram, Mapping[Any, Any]]] = []

    def decompose_what_is_left(
        program: ExportedProgram, table: Mapping[Any, Any] | None = None, **options: Any
    ) -> ExportedProgram:
        if table is None:
            return decompose(program, table, **options)
        tables = [before.keys() for result, before in decomposed if result is program]
        replaced = table.keys() - set().union(*tables)
        if not _has_any(program, replaced) and (tables or not _has_plain_constants(program)):
            return program
        result = decompose(program, table, **options)
        rewrite(result)
        decomposed.append((result, table))
        return result

    with mock.patch.object(ExportedProgram, decompose.__name__, decompose_what_is_left):
        yield


def _has_any(program: ExportedProgram, operators: Collection[Any]) -> bool:
    """Whether a graph, or a branch in it, has one of the operators or one that tracing replaces."""
    graphs = [
        each.graph for each in program.graph_module.modules() if isinstance(each, GraphModule)
    ]
    called = {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}
    return any(each in operators or _is_replaced(each) for each in called)


def _is_replaced(operator: Any) -> bool:
    """Whether tracing replaces an operator, whatever the table has.

    It replaces operators that change their arguments, and composite ones that may return views.
    """
    if not isinstance(operator, torch._ops.OpOverload):
        return False
    is_kept = utils._check_valid_to_preserve(operator)
    return operator._schema.is_mutable or (utils._is_cia_op(operator) and not is_kept)


def _has_plain_constants(program: ExportedProgram) -> bool:
    """Whether it has constants that are no buffers yet, as they are after they were decomposed."""
    specs = program.graph_signature.input_specs
    return any(each.kind == InputKind.CONSTANT_TENSOR for each in specs)
