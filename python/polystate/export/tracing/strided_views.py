"""Refuses views by the strides of memory: a program lays out what it computes row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from polystate.errors import UnsupportedError
from polystate.export.diagnosis.lines import line_of_nodes

aten = torch.ops.aten

_STRIDED = {aten.as_strided.default, aten.as_strided_scatter.default}
# What the user's code calls to see memory by strides. PyTorch's own functions and ours compute
# such strides from those of the tensors that a trace has, which lie row by row.
_CALLED = {
    aten.as_strided,
    aten.as_strided_,
    aten.as_strided_copy,
    aten.as_strided_scatter,
    aten.resize,
    aten.resize_,
    aten.resize_as,
    aten.resize_as_,
}


def refuse_strides_of_memory(
    program: ExportedProgram, exported: ExportedProgram, examples: Any
) -> None:
    """Refuse ``as_strided`` in a functional program where it would see other memory than in eager.

    It would where the tensor does not lie row by row, where the view reaches beyond it, and where
    the tensor is a part of another one and the view counts from that one's beginning. A program
    also has its inputs row by row: where an example lies otherwise, the user's code must not view
    memory by strides at all.

    Parameters
    ----------
    exported
        The program as torch.export gave it, with the operators that the user's code calls.

    Raises
    ------
    UnsupportedError
        With the user's line and a rewrite.
    """
    tensors = (each for each in pytree.tree_leaves(examples) if isinstance(each, torch.Tensor))
    are_rows = all(tensor.is_contiguous() for tensor in tensors)
    is_called = not are_rows and any(
        getattr(node.target, "overloadpacket", None) in _CALLED for node in _nodes(exported)
    )
    for node in _nodes(program):
        if node.target in _STRIDED and (is_called or not _lies_in_rows(node)):
            line = line_of_nodes([node])
            where = f" (at {line})" if line else ""
            raise UnsupportedError(
                f"'as_strided' or 'resize_'{where} of a view, or of a tensor that does not "
                f"lie row by row, has strides of memory, which a program lays out anew: "
                f"use other views: x[:, :4].diagonal(), x.unflatten(0, (2, -1)), x[::2]"
            )


def _nodes(program: ExportedProgram) -> Iterator[Node]:
    """Those of a program's graph, and of its branches."""
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            yield from module.graph.nodes


def _lies_in_rows(node: Node) -> bool:
    operands: list[Any] = list(node.args)
    x = operands[0].meta["val"]
    if node.target == aten.as_strided_scatter.default:
        del operands[1]
    sizes, strides = operands[1:3]
    offset = operands[3] if len(operands) > 3 else node.kwargs.get("storage_offset")
    if not is_contiguous_or_false(x) or (offset is not None and x.storage_offset() != 0):
        return False
    numbers = [*sizes, *strides, offset or 0, x.numel()]
    if not all(isinstance(each, int) for each in numbers):
        return True
    last = (offset or 0) + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    return bool(last < x.numel())
