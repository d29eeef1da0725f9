"""Spares XNNPACK the search for patterns that a graph cannot have.

For every delegate of a program it looks for two compositions of operators: attention and bilinear
interpolation. It exports examples of them first, which takes longer than all else that a small
program needs, and prints the graph for a log that nobody reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from executorch.backends.xnnpack._passes.convert_to_sdpa import ConvertToSDPAPass
from executorch.backends.xnnpack._passes.convert_to_upsample_bilinear2d import (
    ConvertToUpsampleBilinear2d,
)
from executorch.exir.dialects._ops import ops as exir_ops
from torch.fx.passes.infra.pass_base import PassResult

# For each pass an operator that is in all of its patterns.
NEEDED: dict[type[Any], Any] = {
    ConvertToSDPAPass: exir_ops.edge.aten._softmax.default,
    ConvertToUpsampleBilinear2d: exir_ops.edge.aten.upsample_bilinear2d.vec,
}


@contextlib.contextmanager
def looked_for_where_possible() -> Iterator[None]:
    """Leaves the search out within the block where a graph lacks such an operator."""
    with contextlib.ExitStack() as stack:
        for search, operator in NEEDED.items():
            call = _where_there_is(operator, search.call)
            stack.enter_context(mock.patch.object(search, "call", call))
        yield


def _where_there_is(
    operator: Any, call: Callable[[Any, torch.fx.GraphModule], PassResult]
) -> Callable[[Any, torch.fx.GraphModule], PassResult]:
    def call_where_there_is(search: Any, graph_module: torch.fx.GraphModule) -> PassResult:
        if any(node.target == operator for node in graph_module.graph.nodes):
            return call(search, graph_module)
        return PassResult(graph_module, False)

    return call_where_there_is
