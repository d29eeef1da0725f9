"""Limits integer inputs that are used as indices to the dimension that they index."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from polystate.artifact.manifest import ValueRange
from polystate.errors import UnsupportedError
from polystate.export.contract.index_uses import BY_LISTS, IndexUse, index_uses
from polystate.export.contract.known_indices import Range, element_range
from polystate.export.graph.provenance import INTEGERS, Provenance, operand_of_same_values
from polystate.export.graph.scalars import ITEMS, Scalars
from polystate.export.graph.signature import Argument
from polystate.export.graph.sizes import Sizes, is_unbacked

aten = torch.ops.aten


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
        for use in index_uses(node):
            index = reader.read(use.index)
            if index is None:
                continue
            limits = found.setdefault(index.argument.name, [])
            from_the_end = node.target in BY_LISTS and _has_negative(index, examples)
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


def computed_indices(
    graph: Graph, exported: ExportedProgram | None, sizes: Sizes
) -> list[ComputedIndex]:
    """List the indices of a graph that no limit of an input covers.

    Parameters
    ----------
    exported
        The program whose graph it is; None for a branch, which is not always taken.
    """
    reader = _IndexReader(exported) if exported else None
    found = []
    for node in graph.nodes:
        for use in index_uses(node):
            value = use.index.meta.get("val") if isinstance(use.index, Node) else None
            if not isinstance(value, torch.Tensor) or value.dtype not in INTEGERS:
                continue
            dimension, size = use.place, use.limit
            is_limited = size != 0 and not is_unbacked(size)  # as `_range` has it
            if is_limited and reader and reader.knows(use.index):
                continue
            name = reader.provenance.name_of(use.tensor) if reader else None
            table = f"'{name}'" if name else "a computed tensor"
            low = -size if node.target in BY_LISTS else sympy.Integer(use.first)
            high = sympy.sympify(size) - 1 + use.past_the_end + use.first
            what = f"dimension {dimension} of {table}"
            low = sympy.sympify(low)
            if _is_within(element_range(use.index), low, high, sizes):
                continue
            found.append(ComputedIndex(node, use.tensor, dimension, use.index, low, high, what))
    return found


def _is_within(elements: Range | None, low: sympy.Expr, high: sympy.Expr, sizes: Sizes) -> bool:
    """Tell whether elements are known to be from `low` to `high`.

    Sympy itself, which takes every size for 1 or more, is not asked.
    """
    return elements is not None and all(
        sizes.always(sympy.Ge(distance, 0, evaluate=False))
        for distance in (elements[0] - low, high - elements[1])
    )


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
    use: IndexUse, index: _Index, provenance: Provenance, sizes: Sizes, from_the_end: bool
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

# From an operator's arguments to start and end, for steps of 1.
_ARANGES: dict[Any, Callable[[Sequence[Any]], tuple[Any, Any]]] = {
    aten.arange.default: lambda args: (0, args[0]),
    aten.arange.start: lambda args: (args[0], args[1]),
}
