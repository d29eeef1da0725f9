"""Writes numbers that stand in place of tensors as tensors, of the type that is computed in.

ExecuTorch makes int64 or float32 tensors of such numbers, and int32 tensors of sizes. So a float64
``x * 2.7`` would be off by a relative 2e-8, and ``x + 1`` of a tensor without dimensions would have
another type than in PyTorch, where 255 + 1 of uint8 is 0. ExecuTorch also rounds factors of 16-bit
floats, where PyTorch rounds the product alone, and it has no powers of sizes.

Needs the functional program before it is lowered, and again where ExecuTorch has decomposed it.
Keeps what the method computes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.errors import UnsupportedError
from polystate.export.graph.operands import number_as
from polystate.export.graph.scalar_tensors import ScalarTensors, call
from polystate.export.graph.signature import changed_graphs, rename_outputs
from polystate.export.graph.sizes import limits, to_sympy

aten = torch.ops.aten


def keep_precise_scalars(program: ExportedProgram) -> None:
    """Replace them in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if isinstance(node.target, torch._ops.OpOverload):
                _replace(graph, node)
                _compute_in_single(graph, node)
                _subtract_in_double(graph, node)
    rename_outputs(program)


_SHORT = {torch.float16, torch.bfloat16}


def _compute_in_single(graph: Graph, node: Node) -> None:
    """Compute products of 16-bit floats with longer numbers in float32, and round the result."""
    if node.target not in (aten.div.Tensor, aten.mul.Tensor):
        return
    dtype = node.meta["val"].dtype
    if dtype not in _SHORT or not any(_is_rounded(each, dtype) for each in node.args):
        return
    with graph.inserting_before(node):
        wide = [
            call(graph, aten._to_copy.default, each, dtype=torch.float32)
            if isinstance(each, Node)
            else each
            for each in node.args
        ]
        single = call(graph, node.target, *wide)
        result = call(graph, aten._to_copy.default, single, dtype=dtype)
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _subtract_in_double(graph: Graph, node: Node) -> None:
    """Subtract float64 from a number of that type: `rsub` takes none but a number."""
    if node.target != aten.rsub.Scalar or node.meta["val"].dtype != torch.float64:
        return
    x, value, *alpha = (*node.args, *node.kwargs.values())
    if not isinstance(value, float):
        return
    with graph.inserting_before(node):
        number = call(graph, aten.full.default, [], value, dtype=torch.float64)
        result = call(graph, aten.sub.Tensor, number, x, alpha=alpha[0] if alpha else 1)
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _is_rounded(operand: Any, dtype: torch.dtype) -> bool:
    return isinstance(operand, float) and torch.tensor(operand, dtype=dtype).item() != operand


def _replace(graph: Graph, node: Node) -> None:
    assert isinstance(node.target, torch._ops.OpOverload)
    given = (operand.meta.get("val") for operand in node.all_input_nodes)
    tensors = [each for each in given if isinstance(each, torch.Tensor)]
    for place, argument in enumerate(node.target._schema.arguments[: len(node.args)]):
        value = node.args[place]
        if not isinstance(argument.type, torch.TensorType):
            continue
        with graph.inserting_before(node):
            if isinstance(value, bool | int | float):
                number = _written(graph, value, tensors)
            elif isinstance(value, Node) and (
                _has_power(value) or _needs_more_bits(value, tensors)
            ):
                number = _computed(graph, value, tensors)
            else:
                continue
        if number is not None:
            node.update_arg(place, number)


def _written(graph: Graph, value: float, beside: Sequence[torch.Tensor]) -> Node | None:
    dtype = _dtype_of(value, beside)
    if dtype is None:
        return None
    return call(graph, aten.full.default, [], number_as(value, dtype), dtype=dtype)


def _has_power(number: Node) -> bool:
    """Whether a number is computed by a power, which programs have of tensors alone."""
    return number.target == operator.pow or any(
        not isinstance(each.meta.get("val"), torch.Tensor) and _has_power(each)
        for each in number.all_input_nodes
    )


def _needs_more_bits(number: Node, beside: Sequence[torch.Tensor]) -> bool:
    """Whether a number that the run computes may need more bits than ExecuTorch's tensor of it has.

    That has 32, also of a number that is read from a tensor.
    """
    value = number.meta.get("val")
    if isinstance(value, torch.SymFloat):
        return any(each.dtype == torch.float64 for each in beside)
    if not isinstance(value, torch.SymInt):
        return False
    found = limits(value)
    return bool(found.upper >= 2**31 or found.lower < -(2**31))


def _computed(graph: Graph, number: Node, beside: Sequence[torch.Tensor]) -> Node:
    """A number that the run computes, as a tensor of the type that it is computed in."""
    value = number.meta["val"]
    try:
        written = ScalarTensors(graph, {}).write(to_sympy(value))
    except UnsupportedError:  # it is not made of sizes alone
        dtype = torch.float64 if isinstance(value, torch.SymFloat) else torch.int64
        written = call(graph, aten.full.default, [], number, dtype=dtype)
    common = functools.reduce(torch.promote_types, (each.dtype for each in beside))
    dims = max((each.dim() for each in beside), default=0)
    kind = 1.0 if isinstance(value, torch.SymFloat) else 1
    dtype = torch.result_type(torch.empty([1] * dims, dtype=common), kind)
    return call(graph, aten._to_copy.default, written, dtype=dtype)


def _dtype_of(value: float, beside: Sequence[torch.Tensor]) -> torch.dtype | None:
    """The type that a number is to have; None where the one that ExecuTorch chooses will do."""
    if isinstance(value, float) and any(each.dtype == torch.float64 for each in beside):
        return torch.float64
    if not beside or any(each.dim() for each in beside):
        return None
    common = functools.reduce(torch.promote_types, (each.dtype for each in beside))
    return torch.result_type(torch.empty((), dtype=common), value)
