"""Stores weights, state and constants row by row: engines and kernels know no other order.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

_KINDS = {InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR}


def store_row_major(program: ExportedProgram) -> None:
    """Copies what is stored otherwise (transposed, expanded, ``channels_last``) in the program.

    What no operator uses stays as it is: it is not in the lowered program.
    """
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
        if isinstance(value, torch.Tensor) and node.users and not _is_row_major(value):
            row_major = value.detach().resolve_neg().contiguous()
            if isinstance(value, torch.nn.Parameter):
                row_major = torch.nn.Parameter(row_major, requires_grad=value.requires_grad)
            stored[name] = row_major
            node.meta["val"] = node.meta["val"].contiguous()


def _is_row_major(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and not tensor.is_neg()
