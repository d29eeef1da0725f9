"""In which precision results may be computed, by the graphs that a program is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from polystate.export.tracing.traced import Traced

aten = torch.ops.aten

# Bytes of the widest floats, and of those of half precision.
_WIDEST = 8
_HALF = 2

# Give elements as they are, as views do.
_MOVES = """
    clone cat stack index index_select gather embedding where constant_pad_nd flip roll repeat
"""
_MOVING = {getattr(aten, name) for name in _MOVES.split()}


def narrowest_widths(methods: Sequence[Traced]) -> dict[torch.dtype, int]:
    """The narrowest floats that results and states are computed in, by their own types, in bytes.

    Inputs and weights are exact, whatever their types: a sum of float64 and float32 is computed in
    float64. But where inputs have half precision, kernels round at different steps. A state is as
    narrow as the narrowest value that a method writes to it.
    """
    states: dict[str, int] = {}
    known: dict[str, int] | None = None
    found: dict[torch.dtype, int] = {}
    while known != states:  # one method writes what another one computes with
        known = dict(states)
        for method in methods:
            for spec, dtype, width in _results(method.functional, known):
                if spec.kind == OutputKind.BUFFER_MUTATION:
                    name = str(spec.target)
                    states[name] = min(width, states.get(name, width))
                found[dtype] = min(width, dtype.itemsize, found.get(dtype, width))
    return found


def _results(
    program: ExportedProgram, states: Mapping[str, int]
) -> Iterator[tuple[OutputSpec, torch.dtype, int]]:
    widths = _widths(program, states)
    (results,) = program.graph.output_node().args
    assert isinstance(results, Sequence)
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if isinstance(result, Node):
            yield from ((spec, dtype, widths[result]) for dtype in _floats(result))


def _widths(program: ExportedProgram, states: Mapping[str, int]) -> dict[Node, int]:
    """The narrowest floats that each value and all that it follows from are computed in."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    widths: dict[Node, int] = {}
    for node in program.graph.nodes:
        if node.op == "output":
            continue
        if node.op == "placeholder":
            own = _given_width(node, specs.get(node.name), states)
        elif node.op == "get_attr":
            inner = getattr(program.graph_module, str(node.target), None)
            own = _width_inside(inner) if isinstance(inner, GraphModule) else _WIDEST
        else:
            own = _own_width(node)
        widths[node] = min([own, *(widths[operand] for operand in node.all_input_nodes)])
    return widths


def _given_width(node: Node, spec: InputSpec | None, states: Mapping[str, int]) -> int:
    if spec is not None and spec.kind != InputKind.USER_INPUT:
        return states.get(str(spec.target), _WIDEST)
    return _HALF if any(dtype.itemsize <= _HALF for dtype in _floats(node)) else _WIDEST


def _own_width(node: Node) -> int:
    """The narrowest floats of an operator's results; one that only moves elements has none."""
    packet = getattr(node.target, "_overloadpacket", None)
    is_view = getattr(node.target, "is_view", False) and packet != aten.to
    if packet in _MOVING or is_view:
        return _WIDEST
    return min((dtype.itemsize for dtype in _floats(node)), default=_WIDEST)


def _width_inside(branch: GraphModule) -> int:
    """The narrowest floats that a branch, with those inside of it, computes in."""
    graphs = [module for module in branch.modules() if isinstance(module, GraphModule)]
    nodes = [node for each in graphs for node in each.graph.nodes if node.op == "call_function"]
    return min(map(_own_width, nodes), default=_WIDEST)


def _floats(node: Node) -> list[torch.dtype]:
    """The types of the floating-point tensors that a value has."""
    leaves = pytree.tree_leaves(node.meta.get("val"))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point]
