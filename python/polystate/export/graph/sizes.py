"""The dynamic sizes of a method: what they are called, how far they reach, where they are read."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import (
    ShapeEnv,
    free_unbacked_symbols,
    statically_known_true,
)
from torch.utils._sympy.functions import FloorDiv, Mod, PowByNatural, PythonMod
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRangeError, ValueRanges, bound_sympy

from polystate.artifact.expressions import Expression
from polystate.artifact.manifest import Symbol
from polystate.errors import UnsupportedError
from polystate.export.graph.expressions import (
    INT64_MAX,
    evaluate,
    holds,
    symbols_of,
    to_expression,
)
from polystate.export.graph.signature import Argument

# Conditions over at most this many combinations of sizes are decided by trying them all.
_TRIED_COMBINATIONS = 4096


@dataclass(frozen=True)
class DeclaredSize:
    """What the user said of one dynamic dimension: its size is ``scale * root + offset``.

    Attributes
    ----------
    name
        Of the root, a ``Dim``; None where the user gave no name.
    min, max
        The range of the root.
    """

    name: str | None
    min: int
    max: int
    scale: int = 1
    offset: int = 0


# The declared dimensions by (position among the flattened arguments, dimension).
Declared = Mapping[tuple[int, int], DeclaredSize]


@dataclass(frozen=True)
class Sizes:
    """The symbols of a method.

    Attributes
    ----------
    symbols
        As the manifest holds them.
    names
        The name of each of torch's symbols.
    """

    symbols: list[Symbol]
    names: Mapping[sympy.Symbol, str]

    def expression(self, value: Any) -> Expression:
        """Write a size or a condition on sizes, traced or sympy's, in the manifest's form."""
        return to_expression(to_sympy(value), self.names)

    def always(self, condition: sympy.Basic, given: Sequence[Expression] = ()) -> bool:
        """Tell whether a condition surely holds for all sizes within the ranges.

        Parameters
        ----------
        condition
            Over torch's symbols.
        given
            Other conditions, in the manifest's form, that hold too.
        """
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        if not condition.free_symbols <= self.names.keys():
            return False
        ranges = {s.name: (s.min, s.max) for s in self.symbols}
        bounds = {symbol: ranges[self.names[symbol]] for symbol in condition.free_symbols}
        return _holds_by_bounds(condition, bounds) or _holds_by_trial(
            self.expression(condition), given, ranges
        )

    def above_one(self) -> Sizes:
        """Leave sizes 0 and 1 out of the ranges, where PyTorch likes to choose another way."""
        return Sizes([_above_one(symbol) for symbol in self.symbols], self.names)


def _above_one(symbol: Symbol) -> Symbol:
    return dataclasses.replace(symbol, min=2) if symbol.min < 2 <= symbol.max else symbol


def to_sympy(value: Any) -> Any:
    """Give the sympy form of a traced number; other values are returned as they are."""
    if isinstance(value, torch.SymInt | torch.SymBool | torch.SymFloat):
        return value.node.expr
    return value


def usual_values(numbers: Sequence[Any]) -> list[int]:
    """The values that traced numbers have where each size that varies is 2.

    They can be compared where the numbers cannot: a size may be 0 or 1.
    """
    expressions = [sympy.sympify(to_sympy(number)) for number in numbers]
    return [int(each.subs(dict.fromkeys(each.free_symbols, 2))) for each in expressions]


def shape_environment(exported: ExportedProgram) -> ShapeEnv | None:
    """Find what the trace knows of sizes; None where no tensor was traced."""
    values = [node.meta.get("val") for node in exported.graph.nodes]
    mode = detect_fake_mode([value for value in values if isinstance(value, torch.Tensor)])
    return mode.shape_env if mode is not None else None


@contextlib.contextmanager
def without_new_guards() -> Iterator[None]:
    """Lets no pass narrow the ranges of the inputs' sizes, for the example's sake, in the block."""
    evaluate: Any = ShapeEnv.evaluate_expr

    def evaluate_alone(environment: ShapeEnv, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if is_unbacked(condition):
            return evaluate(environment, condition, *args, **kwargs)
        with environment.suppress_guards():
            return evaluate(environment, condition, *args, **kwargs)

    with mock.patch.object(ShapeEnv, "evaluate_expr", evaluate_alone):
        yield


def read_sizes(
    exported: ExportedProgram,
    inputs: Sequence[Argument],
    declared: Declared,
    trust_minimum: bool = False,
) -> Sizes:
    """Name each dynamic size and find the dimension that it is read from.

    Parameters
    ----------
    exported
        The traced method.
    inputs
        Its tensor arguments.
    declared
        What the user said of the dimensions.
    trust_minimum
        PyTorch may have traced for sizes of 2 and more although 0 or 1 was declared. The range then
        starts at 2 too, or with this where it was declared.

    Raises
    ------
    UnsupportedError
        When a size cannot be computed from the sizes of the inputs.
    """
    environment = shape_environment(exported)
    homes = _homes(inputs)
    symbols: list[Symbol] = []
    names: dict[sympy.Symbol, str] = {}
    for symbol, home in homes.items():
        said = _said_of_symbol(home, declared, inputs)
        name = _unique(_name(said, home, inputs), {s.name for s in symbols})
        assert environment is not None  # it made the symbols
        low, high = _range(symbol, said, environment, trust_minimum)
        names[symbol] = name
        symbols.append(Symbol(name, home.input, home.dimension, low, high, home.scale, home.offset))
    _require_known(inputs, names)
    return Sizes(symbols, names)


@dataclass(frozen=True)
class _Home:
    """A dimension whose size is ``scale * symbol + offset``."""

    input: int
    dimension: int
    scale: int
    offset: int

    @property
    def is_the_symbol(self) -> bool:
        return self.scale == 1 and self.offset == 0


def _homes(inputs: Sequence[Argument]) -> dict[sympy.Symbol, _Home]:
    """Find a dimension to read each symbol from, best one that is the symbol itself."""
    homes: dict[sympy.Symbol, _Home] = {}
    for index, argument in enumerate(inputs):
        for dimension, size in enumerate(argument.tensor.shape):
            found = linear_size(to_sympy(size))
            if found is None:
                continue
            symbol, scale, offset = found
            home = _Home(index, dimension, scale, offset)
            if symbol not in homes or (home.is_the_symbol and not homes[symbol].is_the_symbol):
                homes[symbol] = home
    return homes


def linear_size(size: Any) -> tuple[sympy.Symbol, int, int] | None:
    """Split ``scale * symbol + offset`` with a positive scale; None for anything else."""
    if not isinstance(size, sympy.Expr) or len(size.free_symbols) != 1:
        return None
    (symbol,) = size.free_symbols
    offset, slope = size.as_independent(symbol, as_Add=True)
    scale, rest = slope.as_independent(symbol, as_Add=False)
    if rest != symbol or not (scale.is_Integer and scale > 0 and offset.is_Integer):
        return None
    return symbol, int(scale), int(offset)


def _said_of_symbol(
    home: _Home, declared: Declared, inputs: Sequence[Argument]
) -> DeclaredSize | None:
    """Bring what was said of a dimension to the symbol that is read from it."""
    said = declared.get((inputs[home.input].position, home.dimension))
    if said is None or (said.scale, said.offset) == (home.scale, home.offset):
        return said
    if not home.is_the_symbol:
        return None
    low, high = (said.scale * bound + said.offset for bound in (said.min, said.max))
    return DeclaredSize(None, low, high)


def _name(said: DeclaredSize | None, home: _Home, inputs: Sequence[Argument]) -> str:
    if said is not None and said.name is not None:
        return said.name
    return re.sub(r"\W", "_", f"{inputs[home.input].name}_{home.dimension}")


def _unique(name: str, taken: set[str]) -> str:
    candidates = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _range(
    symbol: sympy.Symbol,
    said: DeclaredSize | None,
    environment: ShapeEnv,
    trust_minimum: bool,
) -> tuple[int, int]:
    traced = environment.var_to_range[symbol]
    low, high = _integer(traced.lower), _integer(traced.upper)
    if said is not None:
        high = min(high, said.max)
        is_trusted = trust_minimum and low == 2
        low = min(low, said.min) if is_trusted else max(low, said.min)
    return low, high


def _integer(bound: Any) -> int:
    return INT64_MAX if bound == int_oo else int(bound)


def _require_known(inputs: Sequence[Argument], names: Mapping[sympy.Symbol, str]) -> None:
    for argument in inputs:
        for dimension, size in enumerate(argument.tensor.shape):
            if isinstance(size, torch.SymInt) and to_sympy(size).free_symbols - names.keys():
                raise UnsupportedError(
                    f"dimension {dimension} of input '{argument.name}' has the size "
                    f"'{to_sympy(size)}', which does not follow from the sizes of the inputs"
                )


def always_holds(condition: sympy.Basic, ranges: Mapping[sympy.Symbol, tuple[int, int]]) -> bool:
    """Tell whether a condition surely holds for all sizes within the ranges of torch's symbols."""
    if condition in (sympy.true, sympy.false):
        return bool(condition)
    if not condition.free_symbols <= ranges.keys():
        return False
    used = {symbol: ranges[symbol] for symbol in condition.free_symbols}
    if _holds_by_bounds(condition, used):
        return True
    names = {symbol: str(symbol) for symbol in used}
    try:
        expression = to_expression(condition, names)
    except UnsupportedError:
        return False
    return _holds_by_trial(expression, (), {names[symbol]: used[symbol] for symbol in used})


def is_unbacked(expression: Any) -> bool:
    """Tell whether only the run decides a size or number."""
    return bool(free_unbacked_symbols(to_sympy(expression)))


def may_be_empty(node: Node, *, computed: bool = False) -> bool:
    """Tell whether a node's tensor may have no elements.

    Parameters
    ----------
    computed
        Whether only sizes that are computed count, not those of inputs.
    """
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and any(
        may_be_zero(size)
        and not (computed and isinstance(size, torch.SymInt) and _is_of_an_input(size))
        for size in value.shape
    )


def _is_of_an_input(size: torch.SymInt) -> bool:
    return bool(size.node.expr.is_symbol) and not is_unbacked(size)


def may_be_zero(size: int | torch.SymInt) -> bool:
    """Tell whether a size may be 0."""
    if isinstance(size, int):
        return size == 0
    return bool(limits(size).lower <= 0)


def limits(number: torch.SymInt) -> ValueRanges[Any]:
    """Give the bounds of a traced number, by the ranges of the sizes that it is made of."""
    return number.node.shape_env.bound_sympy(number.node.expr)  # type: ignore[no-any-return]


def largest(size: int | torch.SymInt) -> int:
    """Give the largest value that a size may have.

    Raises
    ------
    UnsupportedError
        Where it has none.
    """
    if isinstance(size, int):
        return size
    expression, ranges = to_sympy(size), size.node.shape_env.var_to_range
    bound = _largest(expression, tuple((s, ranges[s]) for s in expression.free_symbols))
    if bound == int_oo:
        raise UnsupportedError(f"the size '{expression}' has no maximum, and memory is planned")
    return int(bound)


@functools.lru_cache(maxsize=4096)
def _largest(expression: sympy.Expr, ranges: tuple[tuple[sympy.Symbol, Any], ...]) -> Any:
    divisions = expression.atoms(FloorDiv, Mod, PythonMod)
    # Bounds of quotients by what varies may be far too wide, or none.
    is_divided = any(each.args[1].free_symbols for each in divisions)
    found = _values_at_all(expression, dict(ranges)) if is_divided else []
    return max(found) if found else bound_sympy(_divided(expression), dict(ranges)).upper


def _divided(expression: sympy.Expr) -> sympy.Expr:
    """Do divisions that leave nothing, such as ``n**2 // n``: bounds of parts alone are wide."""

    def quotient(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        try:
            whole, rest = sympy.div(a.replace(PowByNatural, sympy.Pow), b)
        except sympy.PolynomialError:
            return FloorDiv(a, b)
        is_exact = rest == 0 and all(
            each.is_Integer for each in whole.as_coefficients_dict().values()
        )
        return whole if is_exact else FloorDiv(a, b)

    return expression.replace(FloorDiv, quotient)


def _values_at_all(expression: sympy.Expr, ranges: Mapping[sympy.Symbol, Any]) -> list[int]:
    """Give what an expression is at all sizes; nothing where these are too many."""
    bounds = [(symbol, _integer(r.lower), _integer(r.upper)) for symbol, r in ranges.items()]
    if math.prod(high - low + 1 for _, low, high in bounds) > _TRIED_COMBINATIONS:
        return []
    try:
        written = to_expression(expression, {symbol: str(symbol) for symbol in ranges})
    except UnsupportedError:
        return []
    names = [str(symbol) for symbol, _, _ in bounds]
    found = []
    for sizes in itertools.product(*(range(low, high + 1) for _, low, high in bounds)):
        with contextlib.suppress(ArithmeticError):  # at sizes that nothing computes it for
            found.append(evaluate(written, dict(zip(names, sizes, strict=True))))
    return found


def lies_row_by_row(x: torch.Tensor) -> bool:
    """Tell whether elements surely do at all sizes. PyTorch's own question may narrow ranges."""
    expected: Any = 1
    for size, stride in zip(reversed(x.shape), reversed(x.stride()), strict=True):
        if not statically_known_true(size == 1) and not statically_known_true(stride == expected):
            return False
        expected = expected * size
    return True


def _holds_by_bounds(
    condition: sympy.Basic, ranges: Mapping[sympy.Symbol, tuple[int, int]]
) -> bool:
    try:
        bounds = bound_sympy(
            condition, {s: ValueRanges(low, high) for s, (low, high) in ranges.items()}
        )
    except (ValueRangeError, AssertionError, NotImplementedError, TypeError, ZeroDivisionError):
        return False
    return bool(bounds.lower == sympy.true)


def _holds_by_trial(
    condition: Expression, given: Sequence[Expression], ranges: Mapping[str, tuple[int, int]]
) -> bool:
    used = symbols_of(["and", condition, *given])
    spans = [range(low, high + 1) for name, (low, high) in ranges.items() if name in used]
    if math.prod(map(len, spans)) > _TRIED_COMBINATIONS:
        return False
    names = [name for name in ranges if name in used]
    combinations = (dict(zip(names, sizes, strict=True)) for sizes in itertools.product(*spans))
    return all(
        holds(condition, sizes)
        for sizes in combinations
        if all(holds(other, sizes) for other in given)
    )
