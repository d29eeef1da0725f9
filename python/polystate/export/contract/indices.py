"""Limits integer inputs that are used as indices to the dimension that they index."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.artifact.manifest import ValueRange
from polystate.errors import UnsupportedError
from polystate.export.contract.known_indices import Range, element_range
from polystate.export.graph.operands import (
    all_operands,
    called_operator,
    changed_shape,
    named_operands,
)
from polystate.export.graph.page_operators import OVER_PAGES
from polystate.export.graph.provenance import INTEGERS, Provenance, operand_of_same_values
from polystate.export.graph.scalars import ITEMS, Scalars
from polystate.export.graph.signature import Argument
from polystate.export.graph.sizes import Sizes, is_unbacked, to_sympy

aten = torch.ops.aten
operators = torch.ops.polystate


@dataclass(frozen=True)
class _Use:
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


def index_ranges(exported: ExportedProgram, sizes: Sizes) -> dict[str, list[ValueRange]]:
    """Find the values that integer inputs may have, by the input's name.

    An input counts as an index if all its elements are used as such, as they are or with a known
    offset (constants, ``arange``). Negative indices, which count from the end in PyTorch, are
    refused too, unless the example has some. Those that the graph computes in another way are
    `computed_indices`.
    """
    reader = _IndexReader(exported)
    examples = pytree.tree_leaves(exported.example_inputs)
    found: dict[str, list[ValueRange]] = {}
    for node in exported.graph.nodes:
        for use in _uses(node):
            index = reader.read(use.index)
            if index is None:
                continue
            limits = found.setdefault(index.argument.name, [])
            from_the_end = node.target in _BY_LISTS and _has_negative(index, examples)
            limit = _range(use, index, reader.provenance, sizes, from_the_end)
            if limit is not None and limit not in limits:
                limits.append(limit)
    return {name: limits for name, limits in found.items() if limits}


@dataclass(frozen=True)
class ComputedIndex:
    """An index whose elements only the run knows, and the limits of these.

    Attributes
    ----------
    use
        The operator that indexes by it.
    tensor, dimension
        What it indexes.
    what
        The same in words.
    """

    use: Node
    tensor: Node
    dimension: int
    index: Node
    low: sympy.Expr
    high: sympy.Expr
    what: str


def computed_indices(graph: Graph, exported: ExportedProgram | None) -> list[ComputedIndex]:
    """List the indices of a graph that no limit of an input covers.

    Parameters
    ----------
    exported
        The program whose graph it is; None for a branch, which is not always taken.
    """
    reader = _IndexReader(exported) if exported else None
    found = []
    for node in graph.nodes:
        for use in _uses(node):
            value = use.index.meta.get("val") if isinstance(use.index, Node) else None
            if not isinstance(value, torch.Tensor) or value.dtype not in INTEGERS:
                continue
            dimension, size = use.place, use.limit
            is_limited = size != 0 and not is_unbacked(size)  # as `_range` has it
            if is_limited and reader and reader.knows(use.index):
                continue
            name = reader.provenance.name_of(use.tensor) if reader else None
            table = f"'{name}'" if name else "a computed tensor"
            low = -size if node.target in _BY_LISTS else sympy.Integer(use.first)
            high = sympy.sympify(size) - 1 + use.past_the_end + use.first
            what = f"dimension {dimension} of {table}"
            low = sympy.sympify(low)
            if _is_within(element_range(use.index), low, high):
                continue
            found.append(ComputedIndex(node, use.tensor, dimension, use.index, low, high, what))
    return found


def _is_within(elements: Range | None, low: sympy.Expr, high: sympy.Expr) -> bool:
    """Tell whether elements are known to be from `low` to `high`."""
    if elements is None:
        return False
    return bool((elements[0] - low).is_nonnegative and (high - elements[1]).is_nonnegative)


@dataclass(frozen=True)
class _Index:
    """Elements of an input, plus offsets that reach from `low` to `high`."""

    argument: Argument
    low: sympy.Expr
    high: sympy.Expr


def _has_negative(index: _Index, examples: Sequence[Any]) -> bool:
    """Tell whether the method's example indexes by a negative element."""
    example = examples[index.argument.position] if examples else None
    if not isinstance(example, torch.Tensor) or example.numel() == 0:
        return False
    return bool((index.low + int(example.min())).is_negative)


def _range(
    use: _Use, index: _Index, provenance: Provenance, sizes: Sizes, from_the_end: bool
) -> ValueRange | None:
    dimension, size = use.place, use.limit
    if size == 0:  # a range is never empty; a check in the program refuses every element
        return None
    last = size - 1 + use.past_the_end + use.first
    name = provenance.name_of(use.tensor)
    verb = "slices" if use.past_the_end else "indexes"
    what = f"'{name}'" if name else "a computed tensor"
    try:
        low = sizes.expression((-size if from_the_end else use.first) - index.low)
        high = sizes.expression(sympy.sympify(last) - index.high)
    except UnsupportedError:  # only the run knows the size
        return None
    return ValueRange(low, high, f"{verb} dimension {dimension} of {what}")


class _IndexReader:
    """Recognises index operands that are inputs with known offsets."""

    def __init__(self, exported: ExportedProgram) -> None:
        self.provenance = Provenance(exported)
        self._scalars = Scalars()
        self._constants = _constants(exported)
        self._known: dict[Node, _Index | None] = {}

    def knows(self, node: Node) -> bool:
        """Whether limits of an input, or the trace, say what elements an operand may have."""
        return self.read(node) is not None or self._offsets(node) is not None

    def read(self, node: Any) -> _Index | None:
        """Read an operand; None where it is something else."""
        if not isinstance(node, Node):
            return None
        if node not in self._known:
            self._known[node] = self._index(node)
        return self._known[node]

    def _index(self, node: Node) -> _Index | None:
        argument = self.provenance.input_of(node)
        if argument is not None:
            return _Index(argument, sympy.Integer(0), sympy.Integer(0))
        if node.target in ITEMS:
            return self.read(node.args[0])
        if node.target in _SUMS and _is_plain(node):
            left, right = node.args[:2]
            return self._shifted(left, right) or self._shifted(right, left)
        if node.target in _DIFFERENCES and _is_plain(node):
            return self._shifted(node.args[0], node.args[1], sign=-1)
        operand = operand_of_same_values(node)
        return self.read(operand) if operand is not None else None

    def _shifted(self, node: Any, offset: Any, sign: int = 1) -> _Index | None:
        index = self.read(node)
        offsets = self._offsets(offset)
        if index is None or offsets is None:
            return None
        if offsets[0] != offsets[1] and not _meet_all(node, offset):
            return None
        low, high = (sign * bound for bound in offsets[::sign])
        return _Index(index.argument, index.low + low, index.high + high)

    def _offsets(self, value: Any) -> tuple[sympy.Expr, sympy.Expr] | None:
        """Find the least and greatest of known whole numbers; None for others."""
        if not isinstance(value, Node):
            return (sympy.Integer(value),) * 2 if isinstance(value, int) else None
        if value in self._constants:
            return self._constants[value]
        if value.target in _ARANGES:
            return self._arange(*_ARANGES[value.target](value.args))
        operand = operand_of_same_values(value)
        if operand is not None:
            return self._offsets(operand)
        return self._size(value)

    def _arange(self, start: Any, end: Any) -> tuple[sympy.Expr, sympy.Expr] | None:
        first, last = self._size(start), self._size(end)
        return None if first is None or last is None else (first[0], last[0] - 1)

    def _size(self, value: Any) -> tuple[sympy.Expr, sympy.Expr] | None:
        """Read a number that sizes decide."""
        if isinstance(value, Node) and isinstance(value.meta.get("val"), torch.Tensor):
            return None
        try:
            number = self._scalars.read(value)
        except UnsupportedError:
            return None
        known = number.is_integer and not number.free_symbols & self._scalars.leaves.keys()
        return (number, number) if known else None


def _constants(exported: ExportedProgram) -> dict[Node, tuple[sympy.Expr, sympy.Expr]]:
    """Find the least and greatest elements of constant whole numbers."""
    found = {}
    placeholders = exported.graph.find_nodes(op="placeholder")
    for node, spec in zip(placeholders, exported.graph_signature.input_specs, strict=True):
        if spec.kind == InputKind.CONSTANT_TENSOR and spec.target is not None:
            value = exported.constants[spec.target]
            if isinstance(value, torch.Tensor) and value.dtype in INTEGERS and value.numel() > 0:
                found[node] = (sympy.Integer(int(value.min())), sympy.Integer(int(value.max())))
    return found


def _meet_all(index: Node, offset: Node) -> bool:
    """Tell whether every element of the one is added to every element of the other.

    That is where no dimension has several elements of both. Elsewhere the ends of the offsets may
    never meet the ends of the index, and limits by both would refuse what is right.
    """
    sizes, offsets = (list(node.meta["val"].shape)[::-1] for node in (index, offset))
    return all(_is_one(m) or _is_one(n) for m, n in zip(sizes, offsets, strict=False))


def _is_one(size: int | torch.SymInt) -> bool:
    return isinstance(size, int) and size == 1


def _is_plain(node: Node) -> bool:
    """Tell whether a sum or a difference takes its second operand as it is, and never wraps.

    Of narrow integers it wraps where it is more than fits; what is indexed has fewer elements than
    fit the others.
    """
    value = node.meta.get("val")
    is_wide = not isinstance(value, torch.Tensor) or value.dtype in (torch.int32, torch.int64)
    return is_wide and len(node.args) == 2 and not node.kwargs


_SUMS = {aten.add.Tensor, aten.add.Scalar, operator.add}
_DIFFERENCES = {aten.sub.Tensor, aten.sub.Scalar, operator.sub}

# Which operand says how many rows a table of tiles has.
_TABLES_OF_TILES = {operators.packed_embedding.default: 2, operators.groupwise_embedding.default: 3}

# From an operator's arguments to start and end, for steps of 1.
_ARANGES: dict[Any, Callable[[Sequence[Any]], tuple[Any, Any]]] = {
    aten.arange.default: lambda args: (0, args[0]),
    aten.arange.start: lambda args: (args[0], args[1]),
}


def _uses(node: Node) -> Iterator[_Use]:
    """List the operands of a node that index a dimension of another."""
    operands: Any = node.args
    if node.target in _ALONG_DIMENSION:
        tensor, dimension, index = (operands[i] for i in _ALONG_DIMENSION[node.target])
        yield _Use(tensor, dimension, index)
    elif node.target in _BY_LISTS:
        yield from _listed_uses(operands[0], operands[1])
    elif node.target in _BY_NAMES:
        yield from _BY_NAMES[node.target](all_operands(node))
    elif node.target in _TABLES_OF_TILES:
        yield _Use(operands[1], 0, operands[0], size=operands[_TABLES_OF_TILES[node.target]])
    elif node.target == operators.quantized_embedding.default:
        yield _Use(operands[2], 0, operands[0])  # a scale for each row of the table
    elif node.target in _SLICES:
        tensor, *bounds = (operands[i] for i in _SLICES[node.target] if i < len(operands))
        dimension, *ends = bounds or [0]
        for end in ends:
            yield _Use(tensor, dimension, end, past_the_end=1)
    elif called_operator(node) in OVER_PAGES:
        yield from _uses_of_pages(node)
    elif node.target == operators.attention.default and operands[3] is not None:
        yield _Use(operands[1], 1, operands[3], past_the_end=1)


def _uses_of_pages(node: Node) -> Iterator[_Use]:
    """List what indexes pages, the rows of a table of them, and the positions of a row."""
    given = named_operands(node)
    pool, page_count = given["key_pool"], changed_shape(node, "key_pool")[0]
    for name in ("page_table", "cross_table", "source", "target"):
        if name in given:
            yield _Use(pool, 0, given[name], size=page_count)
    table = given.get("page_table", given.get("cross_table"))
    if table is None:
        return
    capacity = table.meta["val"].shape[1] * changed_shape(node, "key_pool")[3]
    if "rows" in given:
        yield _Use(table, 0, given["rows"])
    if "positions" in given:
        yield _Use(table, 1, given["positions"], size=capacity)
    if "lengths" in given:
        yield _Use(table, 1, given["lengths"], past_the_end=1, size=capacity)
        if "key" in given:
            yield _Use(given["key"], 1, given["lengths"], past_the_end=1)


def _listed_uses(tensor: Node, indices: Sequence[Node | None]) -> Iterator[_Use]:
    dimension = 0
    for index in indices:
        value = None if index is None else index.meta["val"]
        if value is not None and value.dtype == torch.bool:
            dimension += value.dim()  # a mask stands for as many dimensions as it has
            continue
        yield _Use(tensor, dimension, index)
        dimension += 1


def _uses_of_table(given: Mapping[str, Any]) -> Iterator[_Use]:
    yield _Use(given["weight"], 0, given["indices"])


def _uses_of_gradients(given: Mapping[str, Any]) -> Iterator[_Use]:
    yield _Use(given["grad"], 0, given["indices"], size=given["num_weights"])
    yield _Use(given["grad"], 0, given["offset2bag"])
    if given["mode"] == _LARGEST:
        yield _Use(given["grad"], 0, given["maximum_indices"], size=given["num_weights"])


def _uses_of_gradients_of_weights(given: Mapping[str, Any]) -> Iterator[_Use]:
    yield _Use(given["weight"], 0, given["indices"])
    yield _Use(given["grad"], 0, given["offset2bag"])


def _uses_of_order(given: Mapping[str, Any]) -> Iterator[_Use]:
    if given["sorter"] is not None:
        yield _Use(given["sorted_sequence"], -1, given["sorter"])


def _uses_of_rows(given: Mapping[str, Any]) -> Iterator[_Use]:
    yield _Use(given["self"], 0, given["self"], size=given["size"])


def _uses_of_counts(given: Mapping[str, Any]) -> Iterator[_Use]:
    yield _Use(given["col_indices"], -1, given["crow_indices"], past_the_end=1)


def _places_in_planes(rank: int) -> Callable[[Mapping[str, Any]], Iterator[_Use]]:
    """Name places in planes of so many dimensions, from which a pool took its results."""

    def uses(given: Mapping[str, Any]) -> Iterator[_Use]:
        sizes = given["self"].meta["val"].shape[-rank:]
        yield _Use(given["self"], -rank, given["indices"], size=math.prod(sizes))

    return uses


def _pivots(factors: str, pivots: str) -> Callable[[Mapping[str, Any]], Iterator[_Use]]:
    """Name the rows that a factorization exchanges, counted from 1."""

    def uses(given: Mapping[str, Any]) -> Iterator[_Use]:
        yield _Use(given[factors], -2, given[pivots], first=1)

    return uses


_LARGEST = 2  # the mode of bags of which the largest elements are taken

# From an operator's arguments by name to what they index. Those but the embedding raise while they
# compute, or do not look.
_BY_NAMES: dict[Any, Callable[[Mapping[str, Any]], Iterator[_Use]]] = {
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
_BY_LISTS = {aten.index.Tensor, aten.index_put.default, aten._unsafe_index.Tensor}

# Where an operator has the tensor, the dimension and the bounds of a slice.
_SLICES: dict[Any, tuple[int, ...]] = {
    aten.slice.Tensor: (0, 1, 2, 3),
    aten.slice_scatter.default: (0, 2, 3, 4),
}
