"""Integer expressions over sizes, as a manifest has them, and how people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# An integer, a symbol's name, or [operator, operands...].
Expression = int | str | list[Any]

# How tightly each operator binds in text, as in Python.
_BINDING = {"or": 1, "and": 2, "not": 3, "+": 5, "*": 6, "//": 6, "%": 6, "**": 8}
_COMPARISON_BINDING = 4


def to_text(expression: Expression) -> str:
    """Write the expression as Python does, for messages: ``batch % 2 == 0``."""
    return _text(expression, 0)


def _text(expression: Expression, outer: int) -> str:
    if not isinstance(expression, list):
        return str(expression)
    operator, *operands = expression
    if operator in ("min", "max"):
        return f"{operator}({', '.join(_text(operand, 0) for operand in operands)})"
    binding = _BINDING.get(operator, _COMPARISON_BINDING)
    if operator == "not":
        text = f"not {_text(operands[0], binding)}"
    elif operator == "+":
        text = _sum_text(operands)
    else:
        text = f" {operator} ".join(
            _text(operand, binding + (i > 0)) for i, operand in enumerate(operands)
        )
    return f"({text})" if binding < outer else text


def _sum_text(operands: Sequence[Expression]) -> str:
    """Write negative terms last, as differences: sympy puts constants first."""
    terms = sorted((_signed(operand) for operand in operands), key=lambda term: term[0] < 0)
    texts = []
    for i, (sign, term) in enumerate(terms):
        text = _text(term, _BINDING["+"] + 1)
        if i == 0:
            texts.append(text if sign > 0 else f"-{text}")
        else:
            texts.append(f" {'+' if sign > 0 else '-'} {text}")
    return "".join(texts)


def _signed(term: Expression) -> tuple[int, Expression]:
    """Return sign and absolute value of one term of a sum."""
    if isinstance(term, int):
        return (1, term) if term >= 0 else (-1, -term)
    if isinstance(term, list) and term[0] == "*" and isinstance(term[1], int) and term[1] < 0:
        rest = term[2:] if term[1] == -1 else [-term[1], *term[2:]]
        return -1, rest[0] if len(rest) == 1 else ["*", *rest]
    return 1, term
