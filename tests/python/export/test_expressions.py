"""Expressions over sizes keep their value on the way from sympy to the manifest."""

import math
import operator

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._sympy import functions as f

from polystate.artifact.expressions import to_text
from polystate.errors import UnsupportedError
from polystate.export.graph.expressions import evaluate, to_expression

# As torch makes the symbols of sizes, and one for a size that may be zero.
BATCH = sympy.Symbol("s0", positive=True, integer=True)
LENGTH = sympy.Symbol("s1", integer=True, nonnegative=True)
NAMES = {BATCH: "batch", LENGTH: "length"}

sizes = st.fixed_dictionaries({"batch": st.integers(1, 60), "length": st.integers(0, 60)})


def _applied(written, python):
    """Map a strategy of operands to the operator's results, sympy's and Python's."""

    def apply(operands):
        expressions, values = zip(*operands, strict=True)
        return written(*expressions), lambda sizes: python(*(value(sizes) for value in values))

    return apply


def _constant(value):
    return sympy.Integer(value), lambda _: value


constants = st.integers(-7, 40).map(_constant)
divisors = st.integers(1, 9).map(_constant)
leaves = st.one_of(
    constants,
    st.just((BATCH, lambda sizes: sizes["batch"])),
    st.just((LENGTH, lambda sizes: sizes["length"])),
)


def _grow(inner):
    two, quotient = st.tuples(inner, inner), st.tuples(inner, divisors)
    return st.one_of(
        two.map(_applied(operator.add, operator.add)),
        two.map(_applied(operator.mul, operator.mul)),
        two.map(_applied(f.Max, max)),
        two.map(_applied(f.Min, min)),
        st.tuples(inner).map(_applied(lambda a: a**3, lambda a: a**3)),
        quotient.map(_applied(f.FloorDiv, operator.floordiv)),
        quotient.map(_applied(f.PythonMod, operator.mod)),
        quotient.map(_applied(lambda a, b: f.CleanDiv(a * b, b), lambda a, _: a)),
        quotient.map(_applied(_rounded(f.FloorToInt), lambda a, b: math.floor(a / b))),
        quotient.map(_applied(_rounded(f.CeilToInt), lambda a, b: math.ceil(a / b))),
        quotient.map(_applied(_rounded(f.RoundToInt), lambda a, b: round(a / b))),
    )


def _rounded(rounding):
    return lambda a, b: rounding(f.IntTrueDiv(a, b))


numbers = st.recursive(leaves, _grow, max_leaves=5)
comparisons = st.one_of(
    st.tuples(numbers, numbers).map(_applied(written, python))
    for written, python in [
        (sympy.Eq, operator.eq),
        (sympy.Ne, operator.ne),
        (sympy.Lt, operator.lt),
        (sympy.Le, operator.le),
        (sympy.Gt, operator.gt),
        (sympy.Ge, operator.ge),
    ]
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(_applied(sympy.And, lambda a, b: a and b)),
        st.tuples(inner, inner).map(_applied(sympy.Or, lambda a, b: a or b)),
        st.tuples(inner).map(_applied(sympy.Not, operator.not_)),
    ),
    max_leaves=3,
)


@given(st.one_of(numbers, conditions), sizes)
def test_an_expression_has_the_value_that_python_computes(pair, values):
    written, python = pair
    assert evaluate(to_expression(written, NAMES), values) == int(python(values))


@given(st.one_of(numbers, conditions), sizes)
def test_the_text_of_an_expression_means_the_same_in_python(pair, values):
    expression = to_expression(pair[0], NAMES)
    found = eval(to_text(expression), {"min": min, "max": max}, values)
    assert int(found) == evaluate(expression, values)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 101, 2**40 + 1])
@pytest.mark.parametrize(
    ("written", "python"),
    [
        (f.TruncToInt(f.IntTrueDiv(BATCH, 2)), lambda n: int(n / 2)),
        (f.TruncToInt(f.ToFloat(BATCH) * sympy.Float(0.75)), lambda n: int(n * 0.75)),
        (f.TruncToInt(f.ToFloat(BATCH) * 0.5 + 1.25), lambda n: int(n * 0.5 + 1.25)),
        (f.FloorToInt(f.IntTrueDiv(BATCH, 3)), lambda n: math.floor(n / 3)),
        (f.CeilToInt(f.IntTrueDiv(BATCH, 3)), lambda n: math.ceil(n / 3)),
        (f.RoundToInt(f.IntTrueDiv(BATCH, 2)), lambda n: round(n / 2)),
        (f.RoundToInt(f.IntTrueDiv(BATCH, 3)), lambda n: round(n / 3)),
        (sympy.Gt(f.IntTrueDiv(BATCH, 2), sympy.Float(1.5)), lambda n: n / 2 > 1.5),
        (sympy.Le(f.ToFloat(BATCH) * 0.5, 3), lambda n: n * 0.5 <= 3),
        (sympy.Eq(BATCH / 2, 3), lambda n: n / 2 == 3),
        (f.LShift(BATCH, sympy.Integer(2)), lambda n: n << 2),
        (f.RShift(BATCH, sympy.Integer(2)), lambda n: n >> 2),
        (f.ModularIndexing(BATCH, 3, 4), lambda n: n // 3 % 4),
        (f.Identity(BATCH + 1), lambda n: n + 1),
    ],
)
def test_float_arithmetic_on_sizes_is_written_in_integers(written, python, size):
    assert evaluate(to_expression(written, NAMES), {"batch": size}) == python(size)


@pytest.mark.parametrize(
    "written",
    [
        f.TruncToInt(f.ToFloat(BATCH) * sympy.Float(0.1)),
        f.TruncToInt(f.IntTrueDiv(BATCH - 5, 2)),
        f.TruncToInt(f.IntTrueDiv(BATCH, 3) * sympy.Float(0.5)),
        sympy.Eq(f.IntTrueDiv(BATCH, 3), f.IntTrueDiv(LENGTH, 7)),
        sympy.Lt(f.IntTrueDiv(BATCH, LENGTH), 2),
        f.Where(sympy.Gt(BATCH, 2), BATCH, LENGTH),
        sympy.sqrt(BATCH),
        sympy.Symbol("s9", integer=True) + 1,
        sympy.Integer(2**63),
    ],
)
def test_what_integers_cannot_say_exactly_is_refused_by_name(written):
    with pytest.raises(UnsupportedError, match="cannot be checked at run time") as refusal:
        to_expression(written, NAMES)
    assert str(written) in str(refusal.value)


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (["+", "batch", 1], {"batch": 2**63 - 1}),
        (["*", "batch", "batch"], {"batch": 2**32}),
        (["//", "batch", 0], {"batch": 4}),
        (["%", "batch", 0], {"batch": 4}),
        (["//", -(2**63), -1], {}),
        (["**", "batch", -1], {"batch": 2}),
        (["**", "batch", 63], {"batch": 2}),
        (["or", 1, ["==", ["//", 1, 0], 0]], {}),
    ],
)
def test_arithmetic_beyond_64_bits_or_undefined_fails(expression, values):
    with pytest.raises(ArithmeticError):
        evaluate(expression, values)
