"""How large what a method computes may be, for which memory is planned."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from executorch.exir.pass_base import PassResult
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from executorch.exir.tensor import TensorSpec, stride_from_dim_order
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from polystate.errors import ExportError
from polystate.export.diagnosis.lines import line_of_nodes
from polystate.export.graph.sizes import is_unbacked, largest
from polystate.export.tracing.assumptions import Assumptions

# ExecuTorch's sizes have 32 bits.
_LARGEST = 2**31 - 1


class LargestSizes(ConstraintBasedSymShapeEvalPass):
    """Plans for the ranges that a method has now, not for those that passes narrow them to."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self._program, self._assumptions = program, _with_smallest(program)

    def call(self, graph_module: GraphModule) -> PassResult:
        """Write sizes into what is planned."""
        self._assumptions.restore_ranges(self._program)
        for module in graph_module.modules():
            for node in module.graph.nodes if isinstance(module, GraphModule) else ():
                for spec in pytree.tree_leaves(node.meta.get("spec", [])):
                    if isinstance(spec, TensorSpec):
                        shape = [largest(size) for size in spec.shape]
                        spec.stride = stride_from_dim_order(shape, list(spec.dim_order))
                        spec.shape = shape
        return PassResult(graph_module, True)


def _with_smallest(program: ExportedProgram) -> Assumptions:
    """What is assumed now, from the smallest sizes on that were declared.

    PyTorch may have traced for sizes of 2 and more. What gets smaller as a size grows is largest
    below these.
    """
    assumptions = Assumptions.of(program)
    declared = program.range_constraints
    ranges = {
        symbol: ValueRanges(min(found.lower, declared[symbol].lower), found.upper)
        if symbol in declared
        else found
        for symbol, found in assumptions.ranges.items()
    }
    return dataclasses.replace(assumptions, ranges=ranges)


def require_largest_sizes(name: str, program: ExportedProgram) -> None:
    """Refuses a functional program in which a size depends on values, and has no largest one.

    Raises
    ------
    ExportError
        With the method, the operator, and what to write.
    """
    graphs = [
        each.graph for each in program.graph_module.modules() if isinstance(each, GraphModule)
    ]
    for node in (node for graph in graphs for node in _computing(graph)):
        for value in pytree.tree_leaves(node.meta.get("val")):
            shape = value.shape if isinstance(value, torch.Tensor) else ()
            for dimension, size in enumerate(shape):
                if not _has_largest(size):
                    raise ExportError(
                        f"method '{name}': dimension {dimension} of what '{_operator(node)}' gives "
                        f"depends on values and has no maximum, for which memory is planned"
                        f"{_where(node)}; say how large it may be: "
                        f"n = y.shape[{dimension}]; torch._check(n <= 100)"
                    )


def _computing(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op == "call_function"]


def _has_largest(size: int | torch.SymInt) -> bool:
    if not isinstance(size, torch.SymInt) or not is_unbacked(size):
        return True
    upper = size.node.shape_env.bound_sympy(size.node.expr).upper
    return bool(upper != int_oo and upper <= _LARGEST)


def _operator(node: Node) -> str:
    packet: Any = getattr(node.target, "overloadpacket", node.target)
    return str(packet.__name__)


def _where(node: Node) -> str:
    line = line_of_nodes([node])
    return f" (at {line})" if line else ""
