"""Recognises conditions that only limit the elements of an integer input."""

from __future__ import annotations

from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import Node

from polystate.export.contract.bounds import Bounds, solve
from polystate.export.graph.provenance import Provenance, keeps_elements
from polystate.export.graph.scalars import Scalars

aten = torch.ops.aten

# True only where every element is.
_ALL = {aten.all.default, aten._is_all_true.default}

_BOTH = {
    aten.bitwise_and.Tensor,
    aten.logical_and.default,
    aten.__and__.Tensor,
}

_COMPARISONS: dict[Any, type] = {
    aten.eq.Scalar: sympy.Eq,
    aten.lt.Scalar: sympy.StrictLessThan,
    aten.le.Scalar: sympy.LessThan,
    aten.gt.Scalar: sympy.StrictGreaterThan,
    aten.ge.Scalar: sympy.GreaterThan,
}


def input_bounds(condition: Any, scalars: Scalars, provenance: Provenance) -> list[Bounds] | None:
    """Read a tensor condition, all of whose elements must hold, as limits of integer inputs.

    Returns
    -------
    The limits, of symbols that are named as the inputs; together they say just what the condition
    says. None where it says something else.
    """
    if not isinstance(condition, Node):
        return None
    if condition.target in _ALL or keeps_elements(condition):
        return input_bounds(condition.args[0], scalars, provenance)
    if condition.target in _BOTH:
        left, right = (input_bounds(side, scalars, provenance) for side in condition.args)
        return None if left is None or right is None else left + right
    if condition.target in _COMPARISONS:
        return _comparison(condition, scalars, provenance)
    return None


def _comparison(condition: Node, scalars: Scalars, provenance: Provenance) -> list[Bounds] | None:
    tensor, limit = condition.args
    argument = provenance.input_of(tensor)
    bound = scalars.read(limit)
    if argument is None or not bound.is_integer or bound.free_symbols & scalars.leaves.keys():
        return None
    element = sympy.Symbol(argument.name, integer=True)
    found = solve(element, _COMPARISONS[condition.target], 1, -bound)
    return None if found is None else [found]
