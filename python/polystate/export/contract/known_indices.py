"""What the elements of a computed index may be, where its operator says so.

Places of largest elements are within the dimension in which they were found, and remainders below
what was divided by.
"""

from __future__ import annotations

import operator
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import Node

from polystate.export.contract.index_uses import IndexUse
from polystate.export.graph.operands import all_operands, number_as
from polystate.export.graph.provenance import INTEGERS, operand_of_same_values
from polystate.export.graph.sizes import to_sympy

aten = torch.ops.aten

Range = tuple[sympy.Expr, sympy.Expr]  # both ends are included

_PLACES = {
    aten.argmax.default,
    aten.argmin.default,
    aten.argsort.default,
    aten.argsort.stable,
}

# Of whose results the second one has places.
_VALUES_WITH_PLACES = {
    aten.cummax.default,
    aten.cummin.default,
    aten.kthvalue.default,
    aten.max.dim,
    aten.median.dim,
    aten.min.dim,
    aten.mode.default,
    aten.nanmedian.dim,
    aten.sort.default,
    aten.sort.stable,
    aten.topk.default,
}

# Which take some of their first operand's elements.
_SELECTIONS = {
    aten.flip.default,
    aten.gather.default,
    aten.index.Tensor,
    aten.index_select.default,
    aten.select.int,
    aten.slice.Tensor,
}


def element_range(node: Any) -> Range | None:
    """Return the least and the greatest that an element may be; None where nothing says it."""
    while isinstance(node, Node):
        found = _of_places(node) or _of_remainder(node) or _of_limits(node)
        if found is not None:
            return found
        node = node.args[0] if node.target in _SELECTIONS else operand_of_same_values(node)
    return None


def _of_places(node: Node) -> Range | None:
    if node.target in _PLACES:
        return _places_of(node)
    if node.target == operator.getitem and node.args[1] == 1:
        producer = node.args[0]
        if isinstance(producer, Node) and producer.target in _VALUES_WITH_PLACES:
            return _places_of(producer)
    return None


def _places_of(node: Node) -> Range:
    """Return the range of places along the dimension of an operator; of all elements without."""
    given = all_operands(node)
    if given["dim"] is None:
        size = to_sympy(given["self"].meta["val"].numel())
    else:
        size = IndexUse(given["self"], given["dim"], node).limit
    return sympy.Integer(0), size - 1


def _of_remainder(node: Node) -> Range | None:
    if node.target != aten.remainder.Scalar:
        return None
    by = _number(node, node.args[1])
    return (sympy.Integer(0), sympy.Integer(by - 1)) if by is not None and by > 0 else None


def _of_limits(node: Node) -> Range | None:
    if node.target != aten.clamp.default:
        return None
    given = all_operands(node)
    low, high = _number(node, given["min"]), _number(node, given["max"])
    if low is None or high is None:
        return None
    return sympy.Integer(min(low, high)), sympy.Integer(high)


def _number(node: Node, value: Any) -> int | None:
    """Return a whole number as an operator takes it, which wraps to its tensor's type."""
    dtype = node.meta["val"].dtype
    if dtype not in INTEGERS or not isinstance(value, int):
        return None
    return int(number_as(value, dtype))
