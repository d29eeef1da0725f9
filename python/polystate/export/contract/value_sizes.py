"""Conditions on sizes that depend on values. Where they fail, kernels crash or read beyond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, Node

from polystate.export.graph.expressions import INT64_MAX
from polystate.export.graph.sizes import is_unbacked, limits

aten = torch.ops.aten

# Reductions that need an element. Their second argument, if any, is the dimension or dimensions.
_NEED_AN_ELEMENT = {
    aten.amax.default,
    aten.amin.default,
    aten.aminmax.default,
    aten.argmax.default,
    aten.argmin.default,
    aten.max.default,
    aten.max.dim,
    aten.median.dim,
    aten.min.default,
    aten.min.dim,
    aten.mode.default,
    aten.nanmedian.dim,
}


@dataclass(frozen=True)
class NeededSize:
    """A size that must be 1 or more for an operator to be computed."""

    use: Node
    tensor: Node
    dimension: int


def needed_sizes(graph: Graph) -> Iterator[NeededSize]:
    """List the sizes that depend on values, and that reductions need to be 1 or more."""
    for node in graph.nodes:
        if node.target not in _NEED_AN_ELEMENT:
            continue
        tensor = node.args[0]
        assert isinstance(tensor, Node)
        shape = tensor.meta["val"].shape
        for dimension in _dimensions(node, len(shape)):
            if is_unbacked(shape[dimension]):
                yield NeededSize(node, tensor, dimension)


def _dimensions(node: Node, rank: int) -> list[int]:
    chosen: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if chosen is None or chosen == []:
        return list(range(rank))
    listed = [chosen] if isinstance(chosen, int) else chosen
    return [dimension % rank for dimension in listed] if rank else []


@dataclass(frozen=True)
class Repetitions:
    """How often elements are repeated, and how many there may be, or are to be, in all."""

    use: Node
    counts: Node
    most: int
    given: int | Node | None


def repetitions(graph: Graph) -> Iterator[Repetitions]:
    """List repetitions, since the kernel's sum of the counts may overflow."""
    for node in graph.find_nodes(op="call_function", target=aten.repeat_interleave.Tensor):
        counts = node.args[0]
        assert isinstance(counts, Node)
        size = node.meta["val"].shape[0]
        most = size
        if isinstance(size, torch.SymInt):
            most = limits(size).upper
        given: Any = node.kwargs.get("output_size")
        yield Repetitions(node, counts, int(min(most, INT64_MAX)), given)
