"""Powers, exponentials and other elementary functions of complex numbers, by their parts."""
# ruff: noqa: D103

from __future__ import annotations

import cmath
import functools
import math
from typing import Any

import torch

from polystate.export.tracing.complex_comparisons import eq
from polystate.export.tracing.complex_elements import cdouble, where
from polystate.export.tracing.complex_parts import Complex, learned, parts, polar

# Exponents that are computed by multiplication.
_MOST_FACTORS = 16


def _times_i(z: Complex) -> Complex:
    return Complex(-z.imag, z.real)


def _over_i(z: Complex) -> Complex:
    return Complex(z.imag, -z.real)


@learned
def exp(z: Complex) -> Complex:
    """Compute the exponential: of real numbers a real one, also where it overflows.

    It is 0 where the real part is minus infinity, whatever the imaginary part is.
    """
    size = z.real.exp()
    result = polar(size, z.imag)
    is_nothing = z.real == -math.inf
    imag = torch.where(z.imag == 0, z.imag, result.imag)
    return Complex(torch.where(is_nothing, size, result.real), torch.where(is_nothing, size, imag))


@learned
def exp2(z: Complex) -> Complex:
    return exp(z.mul(math.log(2)))


@learned
def expm1(z: Complex) -> Complex:
    half = (z.imag / 2).sin()
    x = z.real.expm1()
    return Complex(x * z.imag.cos() - 2 * half * half, z.real.exp() * z.imag.sin())


@learned
def log(z: Complex) -> Complex:
    return Complex(z.abs().log(), z.angle())


@learned
def log2(z: Complex) -> Complex:
    return log(z).div(math.log(2))


@learned
def log10(z: Complex) -> Complex:
    return log(z).div(math.log(10))


@learned
def log1p(z: Complex) -> Complex:
    more = 1 + z.real
    x = torch.where(
        (z.real.abs() < 0.5) & (z.imag.abs() < 0.5),
        (z.real * (2 + z.real) + z.imag * z.imag).log1p() / 2,
        torch.hypot(more, z.imag).log(),
    )
    return Complex(x, torch.atan2(z.imag, more))


@learned
def square(z: Complex) -> Complex:
    return z.mul(z)


@learned
def reciprocal(z: Complex) -> Complex:
    return _constant_like(z, 1.0).div(z)


@learned
def sqrt(z: Complex) -> Complex:
    """The root with a real part that is not negative; the larger part is computed first."""
    large = ((z.real.abs() + z.abs()) / 2).sqrt()
    small = z.imag.abs() / torch.where(large == 0, 1, 2 * large)
    is_right = z.real >= 0
    y = torch.where(is_right, small, large)
    is_below = (z.imag < 0) | ((z.imag == 0) & torch.signbit(z.imag))
    return Complex(torch.where(is_right, large, small), torch.where(is_below, -y, y))


@learned
def rsqrt(z: Complex) -> Complex:
    return reciprocal(sqrt(z))


@learned
def sgn(z: Complex) -> Complex:
    size = z.abs()
    return z.div(torch.where(size == 0, 1, size))


@learned
def _pow(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, int | float) and abs(exponent) in range(1, _MOST_FACTORS + 1):
        power = functools.reduce(Complex.mul, [base] * abs(int(exponent)))
        return power if exponent > 0 else reciprocal(power)
    if isinstance(exponent, float) and exponent == 0.5:
        return sqrt(base)
    if isinstance(base, int | float | complex) and base != 0:
        return exp(Complex.of(exponent).mul(cmath.log(base)))
    base = Complex.of(base)
    power = exp(log(base).mul(exponent))
    x, y = parts(exponent)
    nothing = (base.real == 0) & (base.imag == 0)
    at_nothing = torch.where(torch.as_tensor((x == 0) & (y == 0)), 1.0, 0.0).to(power.real.dtype)
    return Complex(
        torch.where(nothing, at_nothing, power.real), torch.where(nothing, 0.0, power.imag)
    )


@learned
def sinh(z: Complex) -> Complex:
    return Complex(z.real.sinh() * z.imag.cos(), z.real.cosh() * z.imag.sin())


@learned
def cosh(z: Complex) -> Complex:
    return Complex(z.real.cosh() * z.imag.cos(), z.real.sinh() * z.imag.sin())


@learned
def tanh(z: Complex) -> Complex:
    """Compute it from tanh of the real part and tan of the imaginary one."""
    x, y = z.real.tanh(), z.imag.tan()
    size = 1 + (x * y).square()
    steep = z.real.cosh().square().reciprocal()
    return Complex(x * (1 + y.square()) / size, y * steep / size)


@learned
def sin(z: Complex) -> Complex:
    return _over_i(sinh(_times_i(z)))


@learned
def cos(z: Complex) -> Complex:
    return cosh(_times_i(z))


@learned
def tan(z: Complex) -> Complex:
    return _over_i(tanh(_times_i(z)))


@learned
def asinh(z: Complex) -> Complex:
    """Compute an odd function where the real part is not negative."""
    sign = torch.where(z.real < 0, -1.0, 1.0).to(z.real.dtype)
    z = z.mul(sign)
    return log(z.add(sqrt(z.mul(z).add(1)))).mul(sign)


@learned
def acosh(z: Complex) -> Complex:
    return log(sqrt(z.add(1).div(2)).add(sqrt(z.sub(1).div(2)))).mul(2)


@learned
def atanh(z: Complex) -> Complex:
    return log1p(z).sub(log1p(-z)).div(2)


@learned
def asin(z: Complex) -> Complex:
    return _over_i(asinh(_times_i(z)))


@learned
def acos(z: Complex) -> Complex:
    return -(asin(z).sub(math.pi / 2))


@learned
def atan(z: Complex) -> Complex:
    return _over_i(atanh(_times_i(z)))


@learned
def sigmoid(z: Complex) -> Complex:
    return reciprocal(exp(-z).add(1))


@learned
def silu(z: Complex, inplace: bool = False) -> Complex:
    return z.mul(sigmoid(z))


@learned
def tanhshrink(z: Complex) -> Complex:
    return z.sub(tanh(z))


@learned
def sinc(z: Complex) -> Complex:
    turned = z.mul(math.pi)
    is_nothing = eq(z, 0)
    return where(is_nothing, 1.0, sin(turned).div(where(is_nothing, 1.0, turned)))


@learned
def float_power(base: Any, exponent: Any) -> Any:
    return _pow(cdouble(Complex.of(base)), exponent)


def _constant_like(z: Complex, value: complex) -> Complex:
    """A number for every element."""
    x, y = parts(value)
    return Complex(torch.full_like(z.real, x), torch.full_like(z.real, y))
