"""Comparisons of complex numbers, as functions of their parts."""
# ruff: noqa: D103

from __future__ import annotations

from typing import Any

from torch import Tensor

from polystate.export.tracing.complex_parts import Complex, learned, parts


@learned
def eq(z: Any, other: Any) -> Any:
    (x, y), (u, v) = parts(Complex.of(z)), parts(other)
    return (x == u) & (y == v)


@learned
def ne(z: Any, other: Any) -> Any:
    return ~eq(z, other)


@learned
def isnan(z: Complex) -> Tensor:
    return z.real.isnan() | z.imag.isnan()


@learned
def isinf(z: Complex) -> Tensor:
    return z.real.isinf() | z.imag.isinf()


@learned
def isfinite(z: Complex) -> Tensor:
    return z.real.isfinite() & z.imag.isfinite()


@learned
def isreal(z: Complex) -> Tensor:
    return z.imag == 0


@learned
def logical_not(z: Complex) -> Tensor:
    return ~is_true(z)


@learned
def logical_and(z: Any, other: Any) -> Tensor:
    return is_true(z) & is_true(other)


@learned
def logical_or(z: Any, other: Any) -> Tensor:
    return is_true(z) | is_true(other)


@learned
def logical_xor(z: Any, other: Any) -> Tensor:
    return is_true(z) ^ is_true(other)


@learned
def isclose(
    z: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    z, other = Complex.of(z), Complex.of(other)
    is_close = eq(z, other) | (isfinite(z) & (z.sub(other).abs() <= atol + rtol * other.abs()))
    return is_close | (isnan(z) & isnan(other)) if equal_nan else is_close


def is_true(z: Any) -> Tensor:
    """Which elements are not 0."""
    x, y = parts(Complex.of(z))
    return (x != 0) | (y != 0)  # type: ignore[no-any-return]
