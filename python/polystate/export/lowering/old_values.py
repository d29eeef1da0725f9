"""Keeps old values of state alive where a lowered method returns or moves them.

After lowering, a changed buffer is written at the end of its method, and what the graph calls its
old value is the same memory. Outputs are read after that; so is a buffer that another one is copied
from (``a, b = b, a``). There, and where a method returns a buffer as it is, this pass puts a copy
of the value.

Needs the edge program after delegation. Keeps what the method computes, and the graph's signature:
only the values that outputs name are others.
"""

from __future__ import annotations

from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from polystate.export.graph.changes import copied_by, memory_of

# Operators that become views of their first operand in the lowered program.
_VIEWS = {exir_ops.edge.aten.view_copy.default}


def copy_old_values(program: ExportedProgram) -> None:
    """Inserts the copies, in place."""
    signature = program.graph_signature
    kinds = {spec.arg.name: spec for spec in signature.input_specs}
    output = program.graph.output_node()
    values = list(output.args[0])
    for position, spec in enumerate(signature.output_specs):
        value = values[position]
        if not isinstance(value, Node):
            continue
        source = memory_of(value, _VIEWS.__contains__)
        if source.op != "placeholder":
            continue
        origin = kinds[source.name]
        if spec.kind == OutputKind.BUFFER_MUTATION and origin.target == spec.target:
            continue  # the value did not change
        if origin.kind == InputKind.USER_INPUT and spec.kind != OutputKind.BUFFER_MUTATION:
            continue  # the caller's own memory, which nothing writes
        copy = copied_by(
            value,
            exir_ops.edge.dim_order_ops._clone_dim_order.default,
            dim_order=list(range(value.meta["val"].dim())),
        )
        values[position] = copy
        spec.arg.name = copy.name
    output.args = (tuple(values),)
    program.graph_module.recompile()
