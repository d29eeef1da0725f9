"""Which operands of an operator index a dimension of another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import Node

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.export.graph.operands import (
    all_operands,
    called_operator,
    changed_shape,
    named_operands,
)
from polystate.export.graph.page_operators import OVER_PAGES
from polystate.export.graph.sizes import to_sympy

aten = torch.ops.aten
operators = torch.ops.polystate


@dataclass(frozen=True)
class IndexUse:
    """One use as an index: of dimension `dimension` of `tensor`, by elements of `index`.

    `past_the_end` is 1 where the size of the dimension itself is allowed too, as a slice's bound;
    `size` is that of what is indexed where the tensor holds it in another order. Indices count from
    `first`. A tensor without dimensions counts as one element.
    """

    tensor: Node
    dimension: int
    index: Any
    past_the_end: int = 0
    size: int | None = None
    first: int = 0

    @property
    def place(self) -> int:
        """The dimension, counted from 0."""
        rank: int = self.tensor.meta["val"].dim()
        return self.dimension % max(rank, 1)

    @property
    def limit(self) -> sympy.Expr:
        """The size of the dimension."""
        shape = self.tensor.meta["val"].shape or (1,)
        found: sympy.Expr = to_sympy(shape[self.place] if self.size is None else self.size)
        return found


# Which operand says how many rows a table of tiles has.
_TABLES_OF_TILES = {operators.packed_embedding.default: 2, operators.groupwise_embedding.default: 3}


def index_uses(node: Node) -> Iterator[IndexUse]:
    """List the operands of a node that index a dimension of another."""
    operands: Any = node.args
    if node.target in _ALONG_DIMENSION:
        tensor, dimension, index = (operands[i] for i in _ALONG_DIMENSION[node.target])
        yield IndexUse(tensor, dimension, index)
    elif node.target in BY_LISTS:
        yield from _listed_uses(operands[0], operands[1])
    elif node.target in _BY_NAMES:
        yield from _BY_NAMES[node.target](all_operands(node))
    elif node.target in _TABLES_OF_TILES:
        yield IndexUse(operands[1], 0, operands[0], size=operands[_TABLES_OF_TILES[node.target]])
    elif node.target == operators.quantized_embedding.default:
        yield IndexUse(operands[2], 0, operands[0])  # a scale for each row of the table
    elif node.target in _SLICES:
        tensor, *bounds = (operands[i] for i in _SLICES[node.target] if i < len(operands))
        dimension, *ends = bounds or [0]
        for end in ends:
            yield IndexUse(tensor, dimension, end, past_the_end=1)
    elif called_operator(node) in OVER_PAGES:
        yield from _uses_of_pages(node)
    elif node.target == operators.attention.default and operands[3] is not None:
        yield IndexUse(operands[1], 1, operands[3], past_the_end=1)


def _uses_of_pages(node: Node) -> Iterator[IndexUse]:
    """List what indexes pages, the rows of a table of them, and the positions of a row."""
    given = named_operands(node)
    pool, page_count = given["key_pool"], changed_shape(node, "key_pool")[0]
    for name in ("page_table", "cross_table", "source", "target"):
        if name in given:
            yield IndexUse(pool, 0, given[name], size=page_count)
    table = given.get("page_table", given.get("cross_table"))
    if table is None:
        return
    capacity = table.meta["val"].shape[1] * changed_shape(node, "key_pool")[3]
    if "rows" in given:
        yield IndexUse(table, 0, given["rows"])
    if "positions" in given:
        yield IndexUse(table, 1, given["positions"], size=capacity)
    if "lengths" in given:
        yield IndexUse(table, 1, given["lengths"], past_the_end=1, size=capacity)
        if "key" in given:
            yield IndexUse(given["key"], 1, given["lengths"], past_the_end=1)


def _listed_uses(tensor: Node, indices: Sequence[Node | None]) -> Iterator[IndexUse]:
    dimension = 0
    for index in indices:
        value = None if index is None else index.meta["val"]
        if value is not None and value.dtype == torch.bool:
            dimension += value.dim()  # a mask stands for as many dimensions as it has
            continue
        yield IndexUse(tensor, dimension, index)
        dimension += 1


def _uses_of_table(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    yield IndexUse(given["weight"], 0, given["indices"])


def _uses_of_gradients(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    yield IndexUse(given["grad"], 0, given["indices"], size=given["num_weights"])
    yield IndexUse(given["grad"], 0, given["offset2bag"])
    if given["mode"] == _LARGEST:
        yield IndexUse(given["grad"], 0, given["maximum_indices"], size=given["num_weights"])


def _uses_of_gradients_of_weights(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    yield IndexUse(given["weight"], 0, given["indices"])
    yield IndexUse(given["grad"], 0, given["offset2bag"])


def _uses_of_order(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    if given["sorter"] is not None:
        yield IndexUse(given["sorted_sequence"], -1, given["sorter"])


def _uses_of_rows(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    yield IndexUse(given["self"], 0, given["self"], size=given["size"])


def _uses_of_counts(given: Mapping[str, Any]) -> Iterator[IndexUse]:
    yield IndexUse(given["col_indices"], -1, given["crow_indices"], past_the_end=1)


def _places_in_planes(rank: int) -> Callable[[Mapping[str, Any]], Iterator[IndexUse]]:
    """Name places in planes of so many dimensions, from which a pool took its results."""

    def uses(given: Mapping[str, Any]) -> Iterator[IndexUse]:
        sizes = given["self"].meta["val"].shape[-rank:]
        yield IndexUse(given["self"], -rank, given["indices"], size=math.prod(sizes))

    return uses


def _pivots(factors: str, pivots: str) -> Callable[[Mapping[str, Any]], Iterator[IndexUse]]:
    """Name the rows that a factorization exchanges, counted from 1."""

    def uses(given: Mapping[str, Any]) -> Iterator[IndexUse]:
        yield IndexUse(given[factors], -2, given[pivots], first=1)

    return uses


_LARGEST = 2  # the mode of bags of which the largest elements are taken

# From an operator's arguments by name to what they index. Those but the embedding raise while they
# compute, or do not look.
_BY_NAMES: dict[Any, Callable[[Mapping[str, Any]], Iterator[IndexUse]]] = {
    aten._convert_indices_from_coo_to_csr.default: _uses_of_rows,
    aten._convert_indices_from_csr_to_coo.default: _uses_of_counts,
    aten._embedding_bag.default: _uses_of_table,
    aten._embedding_bag_backward.default: _uses_of_gradients,
    aten._embedding_bag_forward_only.default: _uses_of_table,
    aten._embedding_bag_per_sample_weights_backward.default: _uses_of_gradients_of_weights,
    aten.adaptive_max_pool2d_backward.default: _places_in_planes(2),
    aten.adaptive_max_pool3d_backward.default: _places_in_planes(3),
    aten.embedding.default: _uses_of_table,
    aten.fractional_max_pool2d_backward.default: _places_in_planes(2),
    aten.fractional_max_pool3d_backward.default: _places_in_planes(3),
    aten.linalg_lu_solve.default: _pivots("LU", "pivots"),
    aten.lu_unpack.default: _pivots("LU_data", "LU_pivots"),
    aten.max_pool3d_with_indices_backward.default: _places_in_planes(3),
    aten.searchsorted.Tensor: _uses_of_order,
}

# Where an operator has the tensor, the dimension and the index.
_ALONG_DIMENSION: dict[Any, tuple[int, int, int]] = {
    aten.index_select.default: (0, 1, 2),
    aten.index_copy.default: (0, 1, 2),
    aten.index_add.default: (0, 1, 2),
    aten.index_reduce.default: (0, 1, 2),
    aten.index_fill.int_Scalar: (0, 1, 2),
    aten.index_fill.int_Tensor: (0, 1, 2),
    aten.gather.default: (0, 1, 2),
    aten.scatter.src: (0, 1, 2),
    aten.scatter.value: (0, 1, 2),
    aten.scatter.reduce: (0, 1, 2),
    aten.scatter.value_reduce: (0, 1, 2),
    aten.scatter_add.default: (0, 1, 2),
    aten.scatter_reduce.two: (0, 1, 2),
    aten.select.int: (0, 1, 2),
    aten.select_scatter.default: (0, 2, 3),
}

# Operators that take one index, or None, for each leading dimension.
BY_LISTS = {aten.index.Tensor, aten.index_put.default, aten._unsafe_index.Tensor}

# Where an operator has the tensor, the dimension and the bounds of a slice.
_SLICES: dict[Any, tuple[int, ...]] = {
    aten.slice.Tensor: (0, 1, 2, 3),
    aten.slice_scatter.default: (0, 2, 3, 4),
}
