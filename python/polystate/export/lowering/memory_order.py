"""Stores weights and state row by row: kernels and sessions know no other order in memory.

Needs the functional program before it is lowered. Keeps what the method computes.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

_KINDS = {InputKind.PARAMETER, InputKind.BUFFER}


def store_row_major(program: ExportedProgram) -> None:
    """Copies what is stored otherwise (``channels_last``), in the program alone."""
    nodes = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    for spec in program.graph_signature.input_specs:
        value = program.state_dict.get(str(spec.target))
        if spec.kind in _KINDS and value is not None and not value.is_contiguous():
            row_major = value.detach().contiguous()
            if isinstance(value, torch.nn.Parameter):
                row_major = torch.nn.Parameter(row_major, requires_grad=value.requires_grad)
            program.state_dict[str(spec.target)] = row_major
            node = nodes[spec.arg.name]
            node.meta["val"] = node.meta["val"].contiguous()
