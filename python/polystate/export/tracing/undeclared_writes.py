"""Writes out what PyTorch's operators change where a trace does not follow them.

Some do not say so in their schemas. A trace takes such an operator for one without effects: new
averages of a buffer would be lost, and a tensor that is no buffer would be changed in a program
that has it as a constant. Written out, the change is state, or is refused as that of a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from polystate.export.graph.scalar_tensors import call

aten = torch.ops.aten


def declare_writes(exported: ExportedProgram) -> None:
    """Replace these operators in a program as torch.export gave it."""
    for module in exported.graph_module.modules():
        if not isinstance(module, GraphModule):
            continue
        for node in list(module.graph.nodes):
            write = _WRITERS.get(node.target)
            if write is not None:
                with module.graph.inserting_before(node):
                    write(module.graph, node, *node.args, **node.kwargs)
        module.recompile()


def _instance_norm(
    graph: Graph,
    node: Node,
    x: Node,
    weight: Node | None,
    bias: Node | None,
    running_mean: Node | None,
    running_var: Node | None,
    of_input: bool,
    momentum: float,
    eps: float,
    cudnn: bool,
) -> None:
    """Averages over the batch what each of its rows would make of the running statistics."""
    if running_mean is None and running_var is None:
        return
    if not of_input:
        operands = (x, weight, bias, running_mean, running_var, False, momentum, eps, cudnn)
        _replace(node, call(graph, aten.batch_norm.default, *operands))
        return
    over = list(range(2, x.meta["val"].dim()))
    if running_mean is not None:
        mean = call(graph, aten.mean.dim, x, over)
        _move(graph, running_mean, call(graph, aten.mean.dim, mean, [0]), momentum)
    if running_var is not None:
        var = call(graph, aten.var.correction, x, over, correction=1)
        _move(graph, running_var, call(graph, aten.mean.dim, var, [0]), momentum)
    operands = (x, weight, bias, None, None, True, momentum, eps, cudnn)
    _replace(node, call(graph, aten.instance_norm.default, *operands))


def _batch_norm_update_stats(
    graph: Graph,
    node: Node,
    x: Node,
    running_mean: Node | None,
    running_var: Node | None,
    momentum: float,
) -> None:
    over = [dim for dim in range(x.meta["val"].dim()) if dim != 1]
    mean = call(graph, aten.mean.dim, x, over)
    if running_mean is not None:
        _move(graph, running_mean, mean, momentum)
    if running_var is not None:
        var = call(graph, aten.var.correction, x, over, correction=1)
        _move(graph, running_var, var, momentum)
    results: Any = (mean, call(graph, aten.var.correction, x, over, correction=0))
    for user in list(node.users):
        if user.target is operator.getitem:
            _replace(user, results[user.args[1]])
    graph.erase_node(node)


def _copysign(graph: Graph, node: Node, x: Node, sign: Any) -> None:
    """Write in place: what returns lies as the second operand does, which views may not take."""
    is_of_tensor = node.target is aten.copysign_.Tensor
    form = aten.copysign.Tensor if is_of_tensor else aten.copysign.Scalar
    _write(graph, node, x, call(graph, form, x, sign))


def _polygamma(graph: Graph, node: Node, x: Node, n: int) -> None:
    """Write in place: its order of arguments keeps PyTorch from finding the form that returns."""
    _write(graph, node, x, call(graph, aten.polygamma.default, n, x))


def _move(graph: Graph, average: Node, value: Node, momentum: float) -> None:
    """Moves a running average by a part of its distance from a value."""
    call(graph, aten.lerp_.Scalar, average, value, momentum)


def _write(graph: Graph, node: Node, x: Node, value: Node) -> None:
    """Replaces an operator that works in place by a copy of what it computes."""
    _replace(node, call(graph, aten.copy_.default, x, value))


def _replace(node: Node, result: Node) -> None:
    result.meta["stack_trace"] = node.meta.get("stack_trace")
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)


_WRITERS: dict[Any, Callable[..., None]] = {
    aten.batch_norm_update_stats.default: _batch_norm_update_stats,
    aten.copysign_.Scalar: _copysign,
    aten.copysign_.Tensor: _copysign,
    aten.instance_norm.default: _instance_norm,
    aten.polygamma_.default: _polygamma,
}
