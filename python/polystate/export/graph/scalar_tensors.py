"""Computes conditions on numbers with tensor operators, which no pass folds away."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.utils._sympy import functions as torch_functions

from polystate.errors import UnsupportedError
from polystate.export.graph.scalars import (
    BitwiseAnd,
    BitwiseOr,
    Leaf,
    is_condition,
)
from polystate.export.graph.sizes import linear_size, to_sympy

aten = torch.ops.aten


def call(graph: Graph, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Node:
    """Insert a call at the graph's insertion point, with the value that the trace would give it."""
    node = graph.call_function(target, args, kwargs)
    values, keywords = map_arg((args, kwargs), lambda operand: operand.meta["val"])
    with _fake_mode(graph), enable_python_dispatcher():  # C++ would fix sizes that vary
        node.meta["val"] = target(*values, **keywords)
    return node


def _fake_mode(graph: Graph) -> Any:
    values = (node.meta.get("val") for node in graph.nodes)
    return next(value.fake_mode for value in values if hasattr(value, "fake_mode"))


class ScalarTensors:
    """Writes sympy expressions as 0-d tensors: int64, float64 or bool.

    Parameters
    ----------
    graph
        The graph to write to, at its insertion point.
    leaves
        What the expressions' symbols stand for that are not sizes of the graph's inputs.
    """

    def __init__(self, graph: Graph, leaves: Mapping[sympy.Symbol, Leaf]) -> None:
        self._graph = graph
        self._leaves = leaves

    def write(self, e: sympy.Basic) -> Node:
        """Write an expression.

        Raises
        ------
        UnsupportedError
            Where an operator has no tensor form here.
        """
        for kinds, writer in _WRITERS:
            if isinstance(e, kinds):
                return writer(self, e)
        raise UnsupportedError(f"a condition computes '{e}', which cannot be checked at run time")

    def write_size(self, e: sympy.Expr) -> Node | int:
        """Write an expression over sizes of the graph's inputs outside tensors."""
        if isinstance(e, sympy.Integer):
            return int(e)
        if isinstance(e, sympy.Symbol):
            return self._size(e)
        if type(e) not in _SIZE_OPERATORS:
            raise UnsupportedError(f"a condition computes '{e}', which cannot be checked")
        operands = [self.write_size(operand) for operand in e.args]
        return functools.reduce(functools.partial(self._call, _SIZE_OPERATORS[type(e)]), operands)

    def _size(self, symbol: sympy.Symbol) -> Node:
        for node in self._graph.nodes:
            if node.op != "placeholder":
                break
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt) and to_sympy(value) == symbol:
                assert isinstance(node, Node)
                return node
            for dimension, size in enumerate(getattr(value, "shape", ())):
                found = linear_size(to_sympy(size))
                if found is not None and found[0] == symbol:
                    return self._size_of(node, dimension, *found[1:])
        raise UnsupportedError(f"a condition depends on the size '{symbol}', which no input has")

    def _size_of(self, node: Node, dimension: int, scale: int, offset: int) -> Node:
        size = self._call(aten.sym_size.int, node, dimension)
        if offset != 0:
            size = self._call(operator.sub, size, offset)
        return size if scale == 1 else self._call(operator.floordiv, size, scale)

    def _symbol(self, symbol: sympy.Symbol) -> Node:
        leaf = self._leaves.get(symbol)
        if leaf is None:
            return self._constant(self._size(symbol), torch.int64)
        if leaf.is_size:
            return self._constant(leaf.node, torch.int64)
        value = self._call(aten.view.default, leaf.node, [])
        return self._cast(value, _dtype(symbol))

    def _operands(self, e: sympy.Basic) -> list[Node]:
        """Write the operands in their common type."""
        dtype = functools.reduce(torch.promote_types, map(_dtype, e.args))
        return [self._as(dtype, operand) for operand in e.args]

    def _truth(self, e: sympy.Basic) -> Node:
        return self._constant(e == sympy.true, torch.bool)

    def _number(self, e: sympy.Number) -> Node:
        return self._constant(int(e) if e.is_integer else float(e), _dtype(e))

    def _power(self, e: sympy.Basic) -> Node:
        base, exponent = e.args
        if exponent.is_Integer and exponent > 0:
            return self._fold(aten.mul.Tensor, [self.write(base)] * int(exponent))
        dtype = _dtype(e)  # whole numbers beyond 2**53 would be rounded in float64
        return self._call(aten.pow.Tensor_Tensor, self._as(dtype, base), self._as(dtype, exponent))

    def _folded(self, e: sympy.Basic) -> Node:
        return self._fold(_FOLDED[type(e)], self._operands(e))

    def _quotient(self, e: sympy.Basic) -> Node:
        return self._call(aten.div.Tensor, *(self._as(torch.float64, a) for a in e.args))

    def _floored_quotient(self, e: sympy.Basic) -> Node:
        return self._call(aten.div.Tensor_mode, *self._operands(e), rounding_mode="floor")

    def _remainder(self, e: sympy.Basic) -> Node:
        """Write ``a - b * (a // b)``: ExecuTorch's remainder takes the sign of the dividend."""
        dividend, divisor = self._operands(e)
        floored = self._call(aten.div.Tensor_mode, dividend, divisor, rounding_mode="floor")
        return self._call(aten.sub.Tensor, dividend, self._call(aten.mul.Tensor, divisor, floored))

    def _negation(self, e: sympy.Not) -> Node:
        return self._call(aten.logical_not.default, self.write(e.args[0]))

    def _as_float(self, e: sympy.Basic) -> Node:
        return self._as(torch.float64, e.args[0])

    def _rounded(self, e: sympy.Basic) -> Node:
        return self._cast(self._call(_ROUNDINGS[type(e)], self.write(e.args[0])), torch.int64)

    def _piecewise(self, e: sympy.Piecewise) -> Node:
        (then, condition), (otherwise, last) = e.args
        assert last == sympy.true  # scalars.py writes no other form
        dtype = torch.promote_types(_dtype(then), _dtype(otherwise))
        values = (self._as(dtype, value) for value in (then, otherwise))
        return self._call(aten.where.self, self.write(condition), *values)

    def _as(self, dtype: torch.dtype, e: sympy.Basic) -> Node:
        return self._cast(self.write(e), dtype)

    def _cast(self, node: Node, dtype: torch.dtype) -> Node:
        if node.meta["val"].dtype == dtype:
            return node
        return self._call(aten._to_copy.default, node, dtype=dtype)

    def _constant(self, value: Any, dtype: torch.dtype) -> Node:
        return self._call(aten.full.default, [], value, dtype=dtype)

    def _fold(self, target: Callable[..., Any], operands: list[Node]) -> Node:
        return functools.reduce(functools.partial(self._call, target), operands)

    def _call(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Node:
        return call(self._graph, target, *args, **kwargs)


def _dtype(e: sympy.Basic) -> torch.dtype:
    if is_condition(e):
        return torch.bool
    return torch.int64 if e.is_integer else torch.float64


_FOLDED: dict[type, Callable[..., Any]] = {
    sympy.Add: aten.add.Tensor,
    sympy.Mul: aten.mul.Tensor,
    sympy.Max: aten.maximum.default,
    sympy.Min: aten.minimum.default,
    sympy.Eq: aten.eq.Tensor,
    sympy.Ne: aten.ne.Tensor,
    sympy.StrictLessThan: aten.lt.Tensor,
    sympy.LessThan: aten.le.Tensor,
    sympy.StrictGreaterThan: aten.gt.Tensor,
    sympy.GreaterThan: aten.ge.Tensor,
    sympy.And: aten.logical_and.default,
    sympy.Or: aten.logical_or.default,
    BitwiseAnd: aten.bitwise_and.Tensor,
    BitwiseOr: aten.bitwise_or.Tensor,
    torch_functions.Max: aten.maximum.default,
    torch_functions.Min: aten.minimum.default,
}

_SIZE_OPERATORS: dict[type, Callable[..., Any]] = {
    sympy.Add: operator.add,
    sympy.Mul: operator.mul,
    torch_functions.FloorDiv: operator.floordiv,
    torch_functions.Mod: operator.mod,
    torch_functions.PythonMod: operator.mod,
    torch_functions.Max: torch.sym_max,
    torch_functions.Min: torch.sym_min,
}

_ROUNDINGS: dict[type, Callable[..., Any]] = {
    torch_functions.FloorToInt: aten.floor.default,
    torch_functions.CeilToInt: aten.ceil.default,
    torch_functions.TruncToInt: aten.trunc.default,
}

_Writer = Callable[[ScalarTensors, sympy.Basic], Node]

_WRITERS: list[tuple[tuple[type, ...], _Writer]] = [
    ((sympy.Symbol,), ScalarTensors._symbol),
    ((sympy.logic.boolalg.BooleanAtom,), ScalarTensors._truth),
    ((sympy.Number,), ScalarTensors._number),
    (tuple(_FOLDED), ScalarTensors._folded),
    ((torch_functions.IntTrueDiv, torch_functions.FloatTrueDiv), ScalarTensors._quotient),
    ((torch_functions.FloorDiv,), ScalarTensors._floored_quotient),
    (
        (torch_functions.PythonMod, torch_functions.Mod, sympy.Mod),
        ScalarTensors._remainder,
    ),
    (tuple(_ROUNDINGS), ScalarTensors._rounded),
    ((torch_functions.ToFloat,), ScalarTensors._as_float),
    ((sympy.Pow, torch_functions.PowByNatural, torch_functions.FloatPow), ScalarTensors._power),
    ((sympy.Piecewise,), ScalarTensors._piecewise),
    ((sympy.Not,), ScalarTensors._negation),
]
