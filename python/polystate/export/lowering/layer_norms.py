"""Computes layer, group and instance norms by our own kernel, on all threads.

ExecuTorch's kernels compute the variance as the mean square less the square of the mean, which
cancels where the mean is large. Our kernel computes in float32; norms of float64 are written as
means of elements and of their squared distances from it.

Needs the functional program before it is lowered. Keeps what the method computes, to rounding.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate import ops  # noqa: F401  (defines the operator)
from polystate.export.graph.operands import all_operands
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten


def spread_layer_norms(program: ExportedProgram) -> None:
    """Replace norms in a functional program, branches included."""
    for graph in changed_graphs(program):
        for target, write in _WRITERS.items():
            for node in graph.find_nodes(op="call_function", target=target):
                with graph.inserting_before(node):
                    result = write(graph, node)
                if result is not None:
                    node.replace_all_uses_with(result)
                    graph.erase_node(node)
    rename_outputs(program)


def _layer_norm(graph: Graph, node: Node) -> Node:
    x, shape, weight, bias, eps, _ = all_operands(node).values()
    form, dtype = _sizes(graph, x), x.meta["val"].dtype
    kept = len(form) - len(shape)
    columns = _product(graph, form[kept:])
    rows = _rows(graph, x, [*form[:kept], columns])
    return _as(graph, _view(graph, _normed(graph, rows, columns, weight, bias, eps), form), dtype)


def _group_norm(graph: Graph, node: Node) -> Node:
    x, groups, weight, bias, eps, _ = all_operands(node).values()
    return _grouped(graph, x, groups, (weight, bias), eps)


def _instance_norm(graph: Graph, node: Node) -> Node | None:
    x, weight, bias, running_mean, _, _, _, eps, _ = all_operands(node).values()
    if running_mean is not None or not isinstance(x, Node):
        return None
    return _grouped(graph, x, None, (weight, bias), eps)


def _grouped(graph: Graph, x: Node, groups: Any, affine: tuple[Any, Any], eps: Any) -> Node:
    """Normalise groups of channels, or each channel; each then has its own weight and bias."""
    form, dtype = _sizes(graph, x), x.meta["val"].dtype
    channels = 1 if groups is None else _quotient(graph, form[1], groups)
    groups = form[1] if groups is None else groups
    columns = _product(graph, [channels, *form[2:]])
    rows = _rows(graph, x, [form[0], groups, columns])
    result = _view(graph, _normed(graph, rows, columns, None, None, eps), form)
    per_channel = [form[1], *[1] * (len(form) - 2)]
    for combine, vector in zip((aten.mul.Tensor, aten.add.Tensor), affine, strict=True):
        if vector is not None:
            vector = _as(graph, vector, result.meta["val"].dtype)
            result = call(graph, combine, result, _view(graph, vector, per_channel))
    return _as(graph, result, dtype)


_WRITERS: dict[Any, Callable[[Graph, Node], Node | None]] = {
    aten.layer_norm.default: _layer_norm,
    aten.group_norm.default: _group_norm,
    aten.instance_norm.default: _instance_norm,
}


def _sizes(graph: Graph, x: Node) -> list[Any]:
    """Return the sizes of a tensor; those that vary are nodes of the graph."""
    return [
        size if isinstance(size, int) else call(graph, aten.sym_size.int, x, dim)
        for dim, size in enumerate(x.meta["val"].shape)
    ]


def _product(graph: Graph, sizes: Sequence[Any]) -> Any:
    """Multiply sizes, two at a time: a graph has no other products of sizes."""
    known = math.prod(size for size in sizes if isinstance(size, int))
    varying = [size for size in sizes if not isinstance(size, int)]
    if not varying:
        return known
    factors = varying if known == 1 else [*varying, known]
    return functools.reduce(functools.partial(call, graph, operator.mul), factors)


def _quotient(graph: Graph, size: Any, by: Any) -> Any:
    if isinstance(size, int) and isinstance(by, int):
        return size // by
    return call(graph, operator.floordiv, size, by)


def _rows(graph: Graph, x: Node, form: Sequence[Any]) -> Node:
    """View the elements as rows, in the type that the norm is computed in."""
    if not x.meta["val"].is_contiguous():
        x = call(graph, aten.clone.default, x, memory_format=torch.contiguous_format)
    is_double = x.meta["val"].dtype == torch.float64
    return _view(graph, x if is_double else _as(graph, x, torch.float32), form)


def _normed(
    graph: Graph, rows: Node, columns: Any, weight: Node | None, bias: Node | None, eps: Any
) -> Node:
    dtype = rows.meta["val"].dtype
    scale = _vector(graph, weight, columns, 1.0, dtype)
    offset = _vector(graph, bias, columns, 0.0, dtype)
    if dtype == torch.float32:
        return call(graph, torch.ops.polystate.layer_norm.default, rows, scale, offset, eps)
    centred = call(graph, aten.sub.Tensor, rows, call(graph, aten.mean.dim, rows, [-1], True))
    squares = call(graph, aten.mul.Tensor, centred, centred)
    variance = call(graph, aten.mean.dim, squares, [-1], True)
    least = call(graph, aten.full.default, [], eps, dtype=dtype)  # a number would be of float32
    inverse = call(graph, aten.rsqrt.default, call(graph, aten.add.Tensor, variance, least))
    normed = call(graph, aten.mul.Tensor, centred, inverse)
    scaled = call(graph, aten.mul.Tensor, normed, scale)
    return call(graph, aten.add.Tensor, scaled, offset)


def _vector(
    graph: Graph, given: Node | None, columns: Any, otherwise: float, dtype: torch.dtype
) -> Node:
    if given is None:
        return call(graph, aten.full.default, [columns], otherwise, dtype=dtype)
    return _view(graph, _as(graph, given, dtype), [columns])


def _as(graph: Graph, x: Node, dtype: torch.dtype) -> Node:
    if x.meta["val"].dtype == dtype:
        return x
    return call(graph, aten._to_copy.default, x, dtype=dtype)


def _view(graph: Graph, x: Node, form: Sequence[Any]) -> Node:
    sizes = [size.meta["val"] if isinstance(size, Node) else size for size in form]
    if list(x.meta["val"].shape) == sizes:
        return x
    return call(graph, aten.view.default, x, [*form])
