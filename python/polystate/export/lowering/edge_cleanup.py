"""Brings an edge program to the form that the runtime calls.

That is: tensors in, tensors out, no needless copies.

Needs the edge program after delegation. Keeps what the method computes and how many outputs it has.
"""

from __future__ import annotations

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind


def return_written_inputs(program: ExportedProgram) -> None:
    """Makes the new values of mutated inputs plain outputs, in their place.

    The runtime writes them to the caller's memory after success.
    """
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            spec.kind, spec.target = OutputKind.USER_OUTPUT, None


def drop_constant_inputs(program: ExportedProgram) -> None:
    """Removes the inputs that were no tensors: the graph has their values in it."""
    signature = program.graph_signature
    constants = {
        spec.arg.name
        for spec in signature.input_specs
        if spec.kind == InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument)
    }
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.name in constants:
            node.replace_all_uses_with(node.meta["val"])
            graph.erase_node(node)
    signature.input_specs = [s for s in signature.input_specs if s.arg.name not in constants]
    program.graph_module.recompile()


def drop_full_copies(program: ExportedProgram) -> None:
    """Replaces ``copy(destination, source)`` by the source where type and shape are equal."""
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target != exir_ops.edge.aten.copy.default:
            continue
        destination, source = node.args[0], node.args[1]
        if _same_form(destination, source):
            node.replace_all_uses_with(source)
            for spec in program.graph_signature.output_specs:
                if spec.arg.name == node.name:
                    spec.arg.name = source.name
            graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()


def _same_form(a: torch.fx.Node, b: torch.fx.Node) -> bool:
    first, second = a.meta["val"], b.meta["val"]
    if first.dtype != second.dtype or first.dim() != second.dim():
        return False
    return all(_same_size(m, n) for m, n in zip(first.shape, second.shape, strict=True))


def _same_size(a: int | torch.SymInt, b: int | torch.SymInt) -> bool:
    if isinstance(a, torch.SymInt) and isinstance(b, torch.SymInt):
        return bool(a.node.expr == b.node.expr)
    return isinstance(a, int) and isinstance(b, int) and a == b
