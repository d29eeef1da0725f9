"""Splits conditions on values into bounds on single numbers and the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sympy  # type: ignore[import-untyped]

from polystate.export.graph.sizes import Sizes


@dataclass(frozen=True)
class Bounds:
    """Inclusive limits of a whole number, over sizes; None: unlimited on that side."""

    symbol: sympy.Symbol
    low: sympy.Expr | None
    high: sympy.Expr | None


def split(
    condition: sympy.Basic, numbers: Collection[sympy.Symbol]
) -> tuple[list[Bounds], list[sympy.Basic]]:
    """Split a condition into bounds on `numbers` and conditions of other forms; all must hold."""
    bounds: list[Bounds] = []
    others: list[sympy.Basic] = []
    for part in sympy.And.make_args(condition):
        found = _bounds(part, numbers)
        if found is None:
            others.append(_normal(part))
        else:
            bounds.append(found)
    return bounds, others


def _normal(condition: sympy.Basic) -> sympy.Basic:
    """Write comparisons in one way, constants on the right, so that equal ones compare equal."""
    comparisons = condition.atoms(sympy.core.relational.Relational)
    return condition.xreplace({each: _normal_comparison(each) for each in comparisons})


def _normal_comparison(comparison: sympy.Basic) -> sympy.Basic:
    if isinstance(comparison, sympy.StrictGreaterThan | sympy.GreaterThan):
        comparison = comparison.reversed
    left_constant, left = comparison.lhs.as_coeff_Add()
    right_constant, right = comparison.rhs.as_coeff_Add()
    if left == 0:
        return comparison.func(left_constant - right_constant, right).reversed
    return comparison.func(left, right + right_constant - left_constant)


def tightest(bounds: Sequence[Bounds], sizes: Sizes) -> list[Bounds]:
    """Merge limits that stand in a known order, number by number."""
    merged: list[Bounds] = []
    for symbol in dict.fromkeys(b.symbol for b in bounds):
        of_symbol = [b for b in bounds if b.symbol == symbol]
        lows = _strictest([-b.low for b in of_symbol if b.low is not None], sizes)
        highs = _strictest([b.high for b in of_symbol if b.high is not None], sizes)
        for i in range(max(len(lows), len(highs))):
            low = -lows[i] if i < len(lows) else None
            merged.append(Bounds(symbol, low, highs[i] if i < len(highs) else None))
    return merged


def _strictest(highs: Sequence[sympy.Expr], sizes: Sizes) -> list[sympy.Expr]:
    """Drop upper limits that others imply for all sizes."""
    kept: list[sympy.Expr] = []
    for i, high in enumerate(highs):
        rivals = [*kept, *highs[i + 1 :]]
        if not any(sizes.always(sympy.Le(rival, high)) for rival in rivals):
            kept.append(high)
    return kept


def _bounds(part: sympy.Basic, numbers: Collection[sympy.Symbol]) -> Bounds | None:
    """Read ``number <= limit`` in any of its forms; None for a condition of another form."""
    found = [symbol for symbol in part.free_symbols if symbol in numbers]
    if len(found) != 1 or not isinstance(part, sympy.core.relational.Relational):
        return None
    (symbol,) = found
    if not symbol.is_integer:
        return None
    difference = sympy.expand(part.lhs - part.rhs)
    slope = difference.coeff(symbol)
    rest = difference - slope * symbol
    if abs(slope) != 1 or symbol in rest.free_symbols or not rest.is_integer:
        return None
    return solve(symbol, type(part), int(slope), rest)


def solve(symbol: sympy.Symbol, relation: type, slope: int, rest: sympy.Expr) -> Bounds | None:
    """Solve ``slope * symbol + rest <relation> 0`` for whole numbers and a slope of 1 or -1."""
    if relation is sympy.Eq:
        return Bounds(symbol, -slope * rest, -slope * rest)
    if relation is sympy.Ne:
        return None
    step = int(relation in (sympy.StrictLessThan, sympy.StrictGreaterThan))
    is_less = relation in (sympy.StrictLessThan, sympy.LessThan)
    limit = slope * (-rest - step if is_less else -rest + step)
    if is_less == (slope > 0):
        return Bounds(symbol, None, limit)
    return Bounds(symbol, limit, None)
