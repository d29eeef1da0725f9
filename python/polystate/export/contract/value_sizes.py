"""What operators over sizes that depend on values need: kernels end the process, or read on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, Node

from polystate.export.graph.expressions import INT64_MAX
from polystate.export.graph.sizes import is_unbacked, limits

aten = torch.ops.aten

# Of nothing these have no result. The dimension or dimensions are the second argument, if any.
_OF_SOMETHING = {
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
    """A size that an operator needs to be one at least."""

    use: Node
    tensor: Node
    dimension: int


def needed_sizes(graph: Graph) -> Iterator[NeededSize]:
    """List the sizes that depend on values, which reductions need to be one at least."""
    for node in graph.nodes:
        if node.target not in _OF_SOMETHING:
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
    """How often elements are repeated, and the largest number of all of them."""

    use: Node
    counts: Node
    most: int


def repetitions(graph: Graph) -> Iterator[Repetitions]:
    """List them: the kernel adds them up in few bits, and writes as many."""
    for node in graph.find_nodes(op="call_function", target=aten.repeat_interleave.Tensor):
        counts = node.args[0]
        assert isinstance(counts, Node)
        size = node.meta["val"].shape[0]
        most = size
        if isinstance(size, torch.SymInt):
            most = limits(size).upper
        yield Repetitions(node, counts, int(min(most, INT64_MAX)))
