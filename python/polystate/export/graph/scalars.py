"""What the numbers that a graph computes outside tensors stand for, as sympy expressions.

torch.export keeps such expressions too, but simplifies them by the very assertions that are to be
checked; the graph itself says what is computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy import functions as torch_functions

from polystate.errors import UnsupportedError

ITEMS = {torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default}


@dataclass(frozen=True)
class Leaf:
    """A number that only the run knows.

    Attributes
    ----------
    node
        The tensor of one element that holds it, or the node of an unknown size.
    is_size
        Whether it is a size.
    """

    node: Node
    is_size: bool

    @property
    def is_bool(self) -> bool:
        """Whether it is 0 or 1 because the tensor holds a bool."""
        return not self.is_size and self.node.meta["val"].dtype == torch.bool


class Scalars:
    """The numbers of one graph; equal sources have equal symbols."""

    def __init__(self) -> None:
        self._symbols: dict[Node, sympy.Symbol] = {}
        self._leaves: dict[sympy.Symbol, Leaf] = {}
        self._known: dict[Node, Any] = {}

    @property
    def leaves(self) -> Mapping[sympy.Symbol, Leaf]:
        """What each symbol stands for that is not a size of an input."""
        return self._leaves

    def read(self, value: Any) -> Any:
        """Give what a node computes in sympy's form, over sizes of inputs and leaves.

        Raises
        ------
        UnsupportedError
            For arithmetic that is not known here.
        """
        if isinstance(value, list | tuple):
            return [self.read(operand) for operand in value]
        if not isinstance(value, Node):
            return sympy.sympify(value)
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, node: Node) -> Any:
        if node.target in ITEMS:
            return self._item(node)
        if node.target is torch.sym_ite:
            return self._choice(*(self.read(operand) for operand in node.args))
        if node.target in _FUNCTIONS:
            operands = [self.read(operand) for operand in node.args]
            return _FUNCTIONS[node.target](*operands)
        traced = node.meta.get("val")
        if isinstance(traced, torch.SymInt):
            # An assertion may have equated an unknown size with a known one; what was traced first
            # tells them apart.
            if free_unbacked_symbols(traced.node._expr):
                return self._symbol(node, is_size=True, integer=True)
            return traced.node.expr
        if isinstance(traced, int):
            return sympy.Integer(traced)
        raise UnsupportedError(f"a condition computes '{node.target}', which cannot be checked")

    def _item(self, node: Node) -> sympy.Basic:
        source = node.args[0]
        assert isinstance(source, Node)
        dtype = source.meta["val"].dtype
        if dtype.is_floating_point:
            return self._symbol(source, is_size=False, real=True)
        symbol = self._symbol(source, is_size=False, integer=True)
        return sympy.Eq(symbol, 1) if dtype == torch.bool else symbol

    def _choice(
        self, condition: sympy.Basic, then: sympy.Basic, otherwise: sympy.Basic
    ) -> sympy.Basic:
        """Choose by a condition; a bool read as 1 or 0 is the number that it was read from."""
        if (then, otherwise) == (1, 0) and isinstance(condition, sympy.Eq) and condition.rhs == 1:
            leaf = self._leaves.get(condition.lhs)
            if leaf is not None and leaf.is_bool:
                return condition.lhs
        return sympy.Piecewise((then, condition), (otherwise, True))

    def _symbol(self, node: Node, *, is_size: bool, **assumptions: bool) -> sympy.Symbol:
        if node not in self._symbols:
            symbol = sympy.Dummy(node.name, **assumptions)
            self._symbols[node] = symbol
            self._leaves[symbol] = Leaf(node, is_size)
        return self._symbols[node]


def _floor_divide(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    if not (a.is_integer and b.is_integer):
        raise UnsupportedError(f"a condition floors the quotient '{a} / {b}' of floats")
    return torch_functions.FloorDiv(a, b)


def _remainder(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    if not (a.is_integer and b.is_integer):
        raise UnsupportedError(f"a condition takes the remainder '{a} % {b}' of floats")
    return torch_functions.PythonMod(a, b)


def _divide(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    if a.is_integer and b.is_integer:
        return torch_functions.IntTrueDiv(a, b)
    return torch_functions.FloatTrueDiv(a, b)


def _to_float(a: sympy.Expr) -> sympy.Expr:
    return torch_functions.ToFloat(a) if a.is_integer else a


def _identity(a: sympy.Expr) -> sympy.Expr:
    return a


class BitwiseAnd(torch_functions.BitwiseFn_bitwise_and):
    """The bits that two whole numbers have in common, which sympy knows to be a whole number."""

    is_integer = True


class BitwiseOr(torch_functions.BitwiseFn_bitwise_or):
    """The bits that one of two whole numbers has."""

    is_integer = True


def _joining(
    conditions: Callable[..., sympy.Basic], numbers: Callable[..., sympy.Basic]
) -> Callable[..., sympy.Basic]:
    """A function that does one thing with two conditions, and another with the bits of numbers."""
    return lambda a, b: (conditions if is_condition(a) and is_condition(b) else numbers)(a, b)


def is_condition(e: sympy.Basic) -> bool:
    """Tell whether an expression is true or false, and no number."""
    return isinstance(e, sympy.logic.boolalg.Boolean) and not isinstance(e, sympy.Symbol)


def _rounding(function: Callable[[sympy.Expr], sympy.Expr]) -> Callable[[sympy.Expr], sympy.Expr]:
    return lambda a: a if a.is_integer else function(a)


_FUNCTIONS: dict[Any, Callable[..., sympy.Basic]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.neg: operator.neg,
    operator.pos: _identity,
    operator.floordiv: _floor_divide,
    operator.mod: _remainder,
    operator.truediv: _divide,
    operator.pow: operator.pow,
    operator.eq: sympy.Eq,
    operator.ne: sympy.Ne,
    operator.lt: sympy.Lt,
    operator.le: sympy.Le,
    operator.gt: sympy.Gt,
    operator.ge: sympy.Ge,
    operator.and_: _joining(sympy.And, BitwiseAnd),
    operator.or_: _joining(sympy.Or, BitwiseOr),
    operator.not_: sympy.Not,
    math.floor: _rounding(torch_functions.FloorToInt),
    math.ceil: _rounding(torch_functions.CeilToInt),
    math.trunc: _rounding(torch_functions.TruncToInt),
    torch.sym_not: sympy.Not,
    torch.sym_max: torch_functions.Max,
    torch.sym_min: torch_functions.Min,
    torch.sym_float: _to_float,
    torch.sym_int: _rounding(torch_functions.TruncToInt),
    torch.sym_sum: lambda operands: sympy.Add(*operands),
}
