"""Rewrites calls that ExecuTorch's kernels refuse or compute wrongly as calls that they get right.

- They refuse indices other than int64, negative padding, and non-blocking copies.
- They leave a product over a dimension of size 0 as the memory was, in place of zeros, and join
  tensors without elements to a result of other sizes.
- They refuse a log_softmax of float64 and the largest of no elements; a log_softmax of an empty
  tensor ends the process.
- Their sign of NaN is NaN, in place of 0.
- They round sums of 16-bit floats, and batch norms, after each step. PyTorch computes in float32,
  and rounds once. They do not read a 16-bit float as a number.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from polystate.export.graph.operands import all_operands
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.scalars import ITEMS
from polystate.export.graph.signature import changed_graphs, rename_outputs

aten = torch.ops.aten

# Where an operator's indices are among its arguments.
_INDICES = {
    aten.gather.default: 2,
    aten.scatter.src: 2,
    aten.scatter.value: 2,
    aten.scatter_add.default: 2,
}

_PRODUCTS = {aten.mm.default, aten.bmm.default, aten.matmul.default}

# Operators that PyTorch computes in float32, but whose kernels round 16-bit floats at each step.
_ROUNDED = {
    aten.addmm.default,
    aten.avg_pool1d.default,
    aten.avg_pool2d.default,
}
_PADS = {aten.pad.default, aten.constant_pad_nd.default}
_LOG_SOFTMAXES = {aten.log_softmax.int, aten._log_softmax.default}
_CONVOLUTIONS = {
    aten.conv1d.default,
    aten.conv1d.padding,
    aten.conv2d.default,
    aten.conv2d.padding,
    aten.conv_transpose1d.default,
    aten.conv_transpose2d.input,
    aten.convolution.default,
}
_BATCH_NORM = aten._native_batch_norm_legit_no_training.default
_OF_ELEMENTS = {aten.cat.default, *_LOG_SOFTMAXES, *_PADS}
_HALVES = {torch.float16, torch.bfloat16}


def keep_kernels_limits(program: ExportedProgram) -> None:
    """Rewrite such calls in a functional program, those in branches included."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            if not isinstance(node.target, torch._ops.OpOverload):
                continue
            with graph.inserting_before(node):
                _fit_arguments(graph, node)
                result = _written(graph, node)
            if result is not None:
                node.replace_all_uses_with(result)
                graph.erase_node(node)
    rename_outputs(program)


def compute_bfloat16_layers_in_single(program: ExportedProgram) -> None:
    """Compute convolutions and batch norms of bfloat16 in float32."""
    _compute_in_single(program, torch.bfloat16)


def compute_float16_layers_in_single(program: ExportedProgram) -> None:
    """Compute convolutions and batch norms of float16 in float32; XNNPACK has some of its own."""
    _compute_in_single(program, torch.float16)


def compute_float16_norms_in_single(program: ExportedProgram, state: Collection[str]) -> None:
    """Compute batch norms of float16 in float32, save those that XNNPACK makes part of weights."""
    signature = program.graph_signature
    constants = {*signature.inputs_to_parameters, *signature.inputs_to_lifted_tensor_constants}
    constants |= {name for name, at in signature.inputs_to_buffers.items() if at not in state}
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=_BATCH_NORM):
            is_short = node.meta["val"][0].dtype == torch.float16
            if is_short and not _becomes_weights(node, constants):
                _normalize_in_single(graph, node)
    rename_outputs(program)


def _becomes_weights(norm: Node, constants: Collection[str]) -> bool:
    """Whether a batch norm is behind a product of its own, and the weights of both are constant."""
    product: Any = norm.args[0]
    if product.target == aten.linear.default:
        if product.meta["val"].dim() != 2:
            return False
    elif product.target not in _CONVOLUTIONS or _is_transposed(product):
        return False
    weights = [each for each in (*product.args[1:3], *norm.args[1:5]) if each is not None]
    are_constant = all(isinstance(each, Node) and each.name in constants for each in weights)
    return are_constant and len(product.users) == 1 and len(product.args[1].users) == 1


def _is_transposed(convolution: Node) -> bool:
    if convolution.target == aten.convolution.default:
        return bool(convolution.args[6])
    return convolution.target in (aten.conv_transpose1d.default, aten.conv_transpose2d.input)


def _compute_in_single(program: ExportedProgram, dtype: torch.dtype) -> None:
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=_BATCH_NORM):
            if node.meta["val"][0].dtype == dtype:
                _normalize_in_single(graph, node)
        for target in _CONVOLUTIONS:
            for node in graph.find_nodes(op="call_function", target=target):
                if node.meta["val"].dtype == dtype:
                    with graph.inserting_before(node):
                        result = _in_single(graph, node, dtype)
                    node.replace_all_uses_with(result)
                    graph.erase_node(node)
    rename_outputs(program)


def _fit_arguments(graph: Graph, node: Node) -> None:
    place = _INDICES.get(node.target)  # type: ignore[call-overload]
    if place is not None:
        index: Any = node.args[place]
        if index.meta["val"].dtype != torch.int64:
            wide = call(graph, aten._to_copy.default, index, dtype=torch.int64)
            node.update_arg(place, wide)
    if node.target in ITEMS:
        number: Any = node.args[0]
        if number.meta["val"].dtype in _HALVES:
            node.update_arg(0, call(graph, aten._to_copy.default, number, dtype=torch.float32))
    if node.kwargs.get("non_blocking"):
        node.update_kwarg("non_blocking", False)


def _written(graph: Graph, node: Node) -> Node | None:
    """What takes a node's place; None where it may stay."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return None
    if _is_zeros(node):
        return call(graph, aten.full.default, list(value.shape), 0, dtype=value.dtype)
    if node.target in _ROUNDED and value.dtype in _HALVES:
        return _in_single(graph, node, value.dtype)
    if node.target in _PADS and all_operands(node).get("mode", "constant") == "constant":
        return _padded(graph, node)
    if node.target == aten.sign.default and value.dtype.is_floating_point:
        return _sign(graph, node)
    if node.target in _LOG_SOFTMAXES and value.dtype == torch.float64:
        return _log_softmax(graph, node)
    return None


def _is_zeros(node: Node) -> bool:
    """Whether a result has no elements or is a sum of none; sizes that vary may not be compared."""
    if not all(isinstance(size, int) for size in node.meta["val"].shape):
        return False
    if node.target in _OF_ELEMENTS:
        return 0 in node.meta["val"].shape
    if node.target not in _PRODUCTS:
        return False
    first: Any = node.args[0]
    summed = first.meta["val"].shape[-1]
    return isinstance(summed, int) and summed == 0


def _padded(graph: Graph, node: Node) -> Node | None:
    """Cuts off first what negative padding takes away."""
    given = all_operands(node)
    x, pad = given["self"], given["pad"]
    if not any(isinstance(each, int) and each < 0 for each in pad):
        return None
    last = x.meta["val"].dim() - 1
    for place, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        if before < 0 or after < 0:
            end = after if after < 0 else sys.maxsize
            x = call(graph, aten.slice.Tensor, x, last - place, max(-before, 0), end)
    wider = [max(each, 0) for each in pad]
    return call(graph, aten.constant_pad_nd.default, x, wider, given["value"] or 0)


def _sign(graph: Graph, node: Node) -> Node:
    x = node.args[0]
    is_none = call(graph, aten.isnan.default, x)
    zero = call(graph, aten.full.default, [], 0, dtype=node.meta["val"].dtype)
    return call(graph, aten.sign.default, call(graph, aten.where.self, is_none, zero, x))


def _log_softmax(graph: Graph, node: Node) -> Node:
    given = all_operands(node)
    x, dim, dtype = (given.get(name) for name in ("self", "dim", "dtype"))
    if dtype is not None:
        x = call(graph, aten._to_copy.default, x, dtype=dtype)
    largest = call(graph, aten.amax.default, _never_empty(graph, x, dim), [dim], True)
    x = call(graph, aten.sub.Tensor, x, largest)
    total = call(graph, aten.sum.dim_IntList, call(graph, aten.exp.default, x), [dim], True)
    return call(graph, aten.sub.Tensor, x, call(graph, aten.log.default, total))


def _never_empty(graph: Graph, x: Any, dim: Any) -> Any:
    """Adds minus infinity to a dimension that varies, so that it always has a maximum."""
    value = x.meta["val"]
    if value.dim() == 0 or not isinstance(value.shape[dim], torch.SymInt):
        return x
    behind = value.dim() - 1 - dim % value.dim()
    return call(graph, aten.constant_pad_nd.default, x, [*[0, 0] * behind, 0, 1], -math.inf)


def _in_single(graph: Graph, node: Node, dtype: torch.dtype) -> Node:
    return call(graph, aten._to_copy.default, _widened_call(graph, node), dtype=dtype)


def _widened_call(graph: Graph, node: Node) -> Node:
    """The same call with float32 for 16-bit floats."""
    assert callable(node.target)
    single = torch.float32

    def widened(argument: Any) -> Any:
        is_half = isinstance(argument, Node) and argument.meta["val"].dtype in _HALVES
        return call(graph, aten._to_copy.default, argument, dtype=single) if is_half else argument

    keywords = {name: single if name == "dtype" else x for name, x in node.kwargs.items()}
    return call(graph, node.target, *map(widened, node.args), **keywords)


def _normalize_in_single(graph: Graph, node: Node) -> None:
    """Computes the first result of a batch norm of 16-bit floats; the others have no elements."""
    dtype = node.meta["val"][0].dtype
    firsts = [each for each in node.users if each.args[1] == 0]
    if not firsts:
        return
    with graph.inserting_before(node):
        first = call(graph, operator.getitem, _widened_call(graph, node), 0)
        result = call(graph, aten._to_copy.default, first, dtype=dtype)
    for each in firsts:
        each.replace_all_uses_with(result)
        graph.erase_node(each)
