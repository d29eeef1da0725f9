"""Integer expressions over sizes: from sympy, as torch.export has them, to the manifest's form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.utils._sympy import functions as torch_functions

from polystate.artifact.expressions import Expression, to_text
from polystate.errors import UnsupportedError

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

# A factor that float arithmetic multiplies sizes by exactly has few bits: 0.5, 1.25, 3.
_MAX_EXACT_PART = 2**20

_RELATIONS: dict[type, str] = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.StrictLessThan: "<",
    sympy.LessThan: "<=",
    sympy.StrictGreaterThan: ">",
    sympy.GreaterThan: ">=",
}

# Operators whose operands carry over one by one. Where they are defined, both kinds of remainder
# take the divisor's sign, as Python's does.
_DIRECT: dict[type, str] = {
    sympy.Add: "+",
    sympy.Mul: "*",
    sympy.Min: "min",
    sympy.Max: "max",
    sympy.And: "and",
    sympy.Or: "or",
    sympy.Not: "not",
    sympy.Mod: "%",
    torch_functions.Min: "min",
    torch_functions.Max: "max",
    torch_functions.Mod: "%",
    torch_functions.PythonMod: "%",
    torch_functions.FloorDiv: "//",
    torch_functions.CleanDiv: "//",
    torch_functions.PowByNatural: "**",
}


def to_expression(expression: Any, names: Mapping[sympy.Symbol, str]) -> Expression:
    """Write a sympy expression over sizes in the manifest's form.

    Parameters
    ----------
    expression
        Integer or truth value. Float arithmetic inside it must be such that integers say exactly
        the same.
    names
        The name of each symbol. Their values are sizes, so never negative.

    Raises
    ------
    UnsupportedError
        When the expression cannot be written exactly.
    """
    try:
        return _translate(sympy.sympify(expression), names)
    except _NotExactError as error:
        raise UnsupportedError(
            f"the size expression '{expression}' cannot be checked at run time: {error}"
        ) from None


class _NotExactError(Exception):
    """The part of an expression that has no exact integer form."""


def _translate(e: sympy.Basic, names: Mapping[sympy.Symbol, str]) -> Expression:
    kind = type(e)
    if e in (sympy.true, sympy.false):
        return int(e == sympy.true)
    if isinstance(e, sympy.Integer):
        return _integer(int(e))
    if isinstance(e, sympy.Symbol):
        if e not in names:
            raise _NotExactError(f"'{e}' is not the size of an input")
        return names[e]
    if kind in _RELATIONS:
        return _relation(e, names)
    if kind in _DIRECT:
        operands = [_translate(argument, names) for argument in e.args]
        return [_DIRECT[kind], *_in_order(_DIRECT[kind], operands)]
    if kind in _REWRITES:
        return _translate(_REWRITES[kind](*e.args), names)
    if kind in _ROUNDINGS:
        return _translate(_ROUNDINGS[kind](*_quotient(e.args[0])), names)
    if isinstance(e, sympy.Pow) and e.exp.is_Integer and e.exp > 0:
        return ["**", _translate(e.base, names), int(e.exp)]
    raise _NotExactError(f"'{e}' ({kind.__name__}) has no integer form")


def _in_order(operator: str, operands: list[Expression]) -> list[Expression]:
    """Sort operands whose order does not matter: sympy's depends on torch's names of symbols."""
    if operator in ("//", "%", "**"):
        return operands
    return sorted(operands, key=lambda operand: (not isinstance(operand, int), to_text(operand)))


def _integer(value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise _NotExactError(f"{value} does not fit 64 bits")
    return value


def _relation(e: sympy.Basic, names: Mapping[sympy.Symbol, str]) -> Expression:
    """Compare products with the denominators, which are positive, instead of quotients."""
    operator = _RELATIONS[type(e)]
    e = _without_roots(e)
    if all(isinstance(side, torch_functions.IntTrueDiv) for side in e.args):
        raise _NotExactError("two rounded quotients are compared")
    (left, left_divisor), (right, right_divisor) = (_quotient(side) for side in e.args)
    for divisor in (left_divisor, right_divisor):
        if not _sized(divisor).is_positive:
            raise _NotExactError(f"the divisor '{divisor}' may be zero or negative")
    return [
        operator,
        _translate(left * right_divisor, names),
        _translate(right * left_divisor, names),
    ]


def _without_roots(e: sympy.Basic) -> sympy.Basic:
    """Compare with zero what has a positive power, instead of the power."""
    left, right = e.args
    is_power = isinstance(left, sympy.Pow | torch_functions.FloatPow)
    if is_power and left.args[1].is_positive and right.is_zero:
        return type(e)(left.args[0], right)
    return e


def _quotient(e: sympy.Basic) -> tuple[sympy.Expr, sympy.Expr]:
    """Return numerator and denominator of one division, or of exact arithmetic.

    PyTorch divides in 64-bit floats. One such division, then rounded or compared, equals exact
    arithmetic while sizes stay below 2**53; a result that is computed with further may not.
    """
    if isinstance(e, torch_functions.IntTrueDiv):
        numerator, denominator = e.args
        return numerator, denominator
    return _exact_quotient(e)


def _exact_quotient(e: sympy.Basic) -> tuple[sympy.Expr, sympy.Expr]:
    """Return numerator and denominator of arithmetic that floats do without rounding."""
    if isinstance(e, torch_functions.ToFloat):
        return _exact_quotient(e.args[0])
    if isinstance(e, sympy.Rational):
        return sympy.Integer(e.p), sympy.Integer(e.q)
    if isinstance(e, sympy.Float):
        numerator, denominator = (sympy.Integer(part) for part in float(e).as_integer_ratio())
        if max(abs(numerator), denominator) > _MAX_EXACT_PART:
            raise _NotExactError(f"arithmetic with {e} is rounded")
        return numerator, denominator
    if isinstance(e, torch_functions.IntTrueDiv) and _is_power_of_two(e.args[1]):
        return e.args[0], e.args[1]
    if isinstance(e, sympy.Mul) and not e.is_integer:
        parts = [_exact_quotient(argument) for argument in e.args]
        return sympy.Mul(*(n for n, _ in parts)), sympy.Mul(*(d for _, d in parts))
    if isinstance(e, sympy.Add) and not e.is_integer:
        parts = [_exact_quotient(argument) for argument in e.args]
        common = sympy.Integer(math.lcm(*(int(d) for _, d in parts)))
        return sympy.Add(*(n * (common / d) for n, d in parts)), common
    return e, sympy.Integer(1)


def _is_power_of_two(e: sympy.Basic) -> bool:
    return isinstance(e, sympy.Integer) and e > 0 and int(e).bit_count() == 1


def _sized(e: sympy.Basic) -> sympy.Basic:
    """Add the knowledge that sizes are whole and not negative."""
    return e.xreplace(
        {s: sympy.Dummy(s.name, integer=True, nonnegative=True) for s in e.free_symbols}
    )


def _truncated(numerator: sympy.Expr, denominator: sympy.Expr) -> sympy.Expr:
    if not (_sized(numerator).is_nonnegative and _sized(denominator).is_positive):
        raise _NotExactError(f"'{numerator} / {denominator}' may be negative where it is truncated")
    return torch_functions.FloorDiv(numerator, denominator)


def _rounded_up(numerator: sympy.Expr, denominator: sympy.Expr) -> sympy.Expr:
    return -torch_functions.FloorDiv(-numerator, denominator)


def _rounded_half_to_even(numerator: sympy.Expr, denominator: sympy.Expr) -> sympy.Expr:
    """Round as Python does: half-way cases go to the even neighbour."""
    if not _sized(denominator).is_positive:
        raise _NotExactError(f"the divisor '{denominator}' may be zero or negative")
    half_up = torch_functions.FloorDiv(2 * numerator + denominator, 2 * denominator)
    half_down = -torch_functions.FloorDiv(denominator - 2 * numerator, 2 * denominator)
    return half_up - (half_up - half_down) * torch_functions.PythonMod(half_up, 2)


_ROUNDINGS: dict[type, Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    torch_functions.FloorToInt: torch_functions.FloorDiv,
    torch_functions.CeilToInt: _rounded_up,
    torch_functions.TruncToInt: _truncated,
    torch_functions.RoundToInt: _rounded_half_to_even,
}

_REWRITES: dict[type, Callable[..., sympy.Expr]] = {
    torch_functions.Identity: lambda a: a,
    torch_functions.ModularIndexing: lambda a, b, c: torch_functions.PythonMod(
        torch_functions.FloorDiv(a, b), c
    ),
    torch_functions.CeilDiv: _rounded_up,
    torch_functions.LShift: lambda a, b: a * torch_functions.PowByNatural(sympy.Integer(2), b),
    torch_functions.RShift: lambda a, b: torch_functions.FloorDiv(
        a, torch_functions.PowByNatural(sympy.Integer(2), b)
    ),
}


def evaluate(expression: Expression, sizes: Mapping[str, int]) -> int:
    """Compute by the rules of the C++ runtime: every operand is evaluated, from left to right.

    Raises
    ------
    ArithmeticError
        Where a condition counts as false: 64-bit overflow, division by zero, a negative exponent.
    """
    if isinstance(expression, int):
        return _fits(expression)
    if isinstance(expression, str):
        return _fits(sizes[expression])
    operator, *operands = expression
    values = [evaluate(operand, sizes) for operand in operands]
    if operator == "not":
        return int(not values[0])
    return reduce(lambda a, b: _fits(int(_OPERATORS[operator](a, b))), values)


def _fits(value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError(f"{value} does not fit 64 bits")
    return value


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ArithmeticError(f"the exponent {exponent} is negative")
    if abs(base) > 1 and exponent >= 64:
        raise OverflowError(f"{base} ** {exponent} does not fit 64 bits")
    return int(base**exponent)


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": _power,
    "min": min,
    "max": max,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}


def holds(condition: Expression, sizes: Mapping[str, int]) -> bool:
    """Tell whether a condition is true; where its arithmetic fails it is not."""
    try:
        return bool(evaluate(condition, sizes))
    except ArithmeticError:
        return False


def constants_of(expression: Expression) -> set[int]:
    """Find the integers in an expression."""
    if isinstance(expression, list):
        return {value for operand in expression[1:] for value in constants_of(operand)}
    return {expression} if isinstance(expression, int) else set()


def symbols_of(expression: Expression) -> set[str]:
    """Find the names of the symbols in an expression."""
    if isinstance(expression, list):
        return {name for operand in expression[1:] for name in symbols_of(operand)}
    return {expression} if isinstance(expression, str) else set()
