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

from polystate.export.graph.operands import all_operands
from polystate.export.graph.provenance import operand_of_same_values
from polystate.export.graph.sizes import to_sympy

aten = torch.ops.aten

Range = tuple[sympy.Expr, sympy.Expr]  # both ends are included

_PLACES = {aten.argmax.default, aten.argmin.default, aten.argsort.default}

# Of whose results the second one has places.
_VALUES_WITH_PLACES = {
    aten.cummax.default,
    aten.cummin.default,
    aten.kthvalue.default,
    aten.max.dim,
    aten.median.dim,
    aten.min.dim,
    aten.mode.default,
    aten.sort.default,
    aten.sort.stable,
    aten.topk.default,
}

# Which take some of their first operand's elements, or all in another order.
_SELECTIONS = {
    aten.expand.default,
    aten.flip.default,
    aten.gather.default,
    aten.index.Tensor,
    aten.index_select.default,
    aten.permute.default,
    aten.select.int,
    aten.slice.Tensor,
    aten.squeeze.dim,
    aten.transpose.int,
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
    value = given["self"].meta["val"]
    size = value.numel() if given["dim"] is None else (*value.shape, 1)[_place(given["dim"], value)]
    return sympy.Integer(0), to_sympy(size) - 1


def _place(dim: int, value: torch.Tensor) -> int:
    return dim % max(value.dim(), 1)


def _of_remainder(node: Node) -> Range | None:
    if node.target != aten.remainder.Scalar:
        return None
    by = node.args[1]
    return (sympy.Integer(0), sympy.Integer(by - 1)) if isinstance(by, int) and by > 0 else None


def _of_limits(node: Node) -> Range | None:
    if node.target != aten.clamp.default:
        return None
    given = all_operands(node)
    low, high = given["min"], given["max"]
    if not isinstance(low, int) or not isinstance(high, int):
        return None
    return sympy.Integer(min(low, high)), sympy.Integer(high)
