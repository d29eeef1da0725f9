"""Stores weights, state and constants row by row: engines and kernels know no other order.

Results that PyTorch lays out otherwise lie row by row, too, so that views of them may copy.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false, make_contiguous_strides_for
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from polystate.export.graph.signature import changed_graphs
from polystate.export.graph.sizes import usual_values

aten = torch.ops.aten

_KINDS = {InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR}

_COPIES = {aten.clone.default, aten._to_copy.default}
_ORDERS = {torch.channels_last, torch.channels_last_3d}


def store_row_major(program: ExportedProgram) -> None:
    """Copies what is stored otherwise (transposed, expanded, ``channels_last``) in the program.

    What no operator uses stays as it is, for it is not in the lowered program, except for state.
    Views that hold for the other order become reshapes.
    """
    is_changed = False
    nodes = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    for spec in program.graph_signature.input_specs:
        if spec.kind not in _KINDS:
            continue
        name = str(spec.target)
        # Constants are attributes of the module, and buffers that are not persistent.
        stored: dict[str, Any] = (
            program.state_dict if name in program.state_dict else program.constants
        )
        value = stored.get(name)
        node = nodes[spec.arg.name]
        is_used = bool(node.users) or spec.kind == InputKind.BUFFER
        if isinstance(value, torch.Tensor) and is_used and not _is_row_major(value):
            row_major = _in_rows(value.detach().resolve_neg())
            if isinstance(value, torch.nn.Parameter):
                row_major = torch.nn.Parameter(row_major, requires_grad=value.requires_grad)
            stored[name] = row_major
            node.meta["val"] = _in_rows(node.meta["val"])
            is_changed = True
    if is_changed:
        _reshape(program)


def copy_row_major(program: ExportedProgram) -> None:
    """Lets copies in another order (``channels_last``) lie row by row, as all that they meet."""
    is_changed = False
    for graph in changed_graphs(program):
        for node in graph.nodes:
            if node.target in _COPIES and node.kwargs.get("memory_format") in _ORDERS:
                node.kwargs = {**node.kwargs, "memory_format": torch.contiguous_format}
                is_changed = True
    if is_changed:
        _reshape(program)


def let_views_copy(program: ExportedProgram) -> None:
    """Writes views as reshapes where a result lies otherwise in PyTorch than kernels write it.

    PyTorch's linear algebra gives matrices column by column: a transpose of one can be viewed as a
    vector there, and not here.
    """
    if has_column_major_results(program):
        _reshape(program)


def _reshape(program: ExportedProgram) -> None:
    for graph in changed_graphs(program):
        for node in graph.find_nodes(op="call_function", target=aten.view.default):
            node.target = aten.reshape.default


def has_column_major_results(program: ExportedProgram) -> bool:
    """Whether an operator of a functional program gives such results."""
    modules = (each for each in program.graph_module.modules() if isinstance(each, GraphModule))
    return any(_is_column_major(node) for module in modules for node in module.graph.nodes)


def _is_column_major(node: Node) -> bool:
    """Whether an operator gives new tensors whose last dimension does not run fastest."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.is_view:
        return False
    return any(
        isinstance(value, torch.Tensor)
        and not (is_contiguous_or_false(value) and _descends(value.stride()))
        for value in pytree.tree_leaves(node.meta.get("val"))
    )


def _descends(strides: Sequence[Any]) -> bool:
    """Whether no stride is smaller than the next one, at sizes above 1.

    At other sizes, such as one column or a batch without matrices, any strides are right.
    """
    return all(a >= b for a, b in itertools.pairwise(usual_values(strides)))


def _is_row_major(tensor: torch.Tensor) -> bool:
    """Whether it has the strides of rows, also where any would do: ExecuTorch takes no others."""
    return tensor.stride() == make_contiguous_strides_for(tensor.shape) and not tensor.is_neg()


def _in_rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)
