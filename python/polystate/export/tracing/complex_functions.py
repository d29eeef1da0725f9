"""What functions of complex numbers are, as functions of their parts.

Each is what PyTorch's of its name is.
"""
# ruff: noqa: D103

from __future__ import annotations

import cmath
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.complex_parts import (
    Complex,
    is_complex,
    learned,
    parts,
    polar,
    real_type,
)

# Exponents that are computed by multiplication.
_MOST_FACTORS = 16


@learned
def real(z: Any) -> Tensor:
    return z.real  # type: ignore[no-any-return]


@learned
def imag(z: Any) -> Tensor:
    return z.imag  # type: ignore[no-any-return]


@learned
def positive(z: Complex) -> Complex:
    return z


@learned
def resolve_conj(z: Complex) -> Complex:
    return z if z._conjugate_of is None else z.clone()


@learned
def conj_physical(z: Complex) -> Complex:
    return Complex(z.real, -z.imag, is_borrowed=True)


@learned
def resolve_neg(z: Complex) -> Complex:
    return z


@learned
def adjoint(z: Complex) -> Complex:
    return z.mH


@learned
def to(z: Complex, *args: Any, **kwargs: Any) -> Any:
    """Of another type; there is one device."""
    for each in (*args, *kwargs.values()):
        dtype = each.dtype if isinstance(each, Tensor | Complex) else each
        if isinstance(dtype, torch.dtype) and dtype.is_complex:
            return Complex(z.real.to(real_type(dtype)), z.imag.to(real_type(dtype)))
        if isinstance(dtype, torch.dtype):
            return z.real.to(dtype)
    return z


@learned
def view(z: Complex, *shape: Any) -> Any:
    if isinstance(shape[0], torch.dtype):
        return z if shape[0].is_complex else z.view_as_real().flatten(-2).view(shape[0])
    return z._same("view", shape, {})


@learned
def type_as(z: Complex, other: Any) -> Any:
    return to(z, other.dtype)


@learned
def cfloat(z: Complex) -> Complex:
    return Complex(z.real.float(), z.imag.float())


@learned
def cdouble(z: Complex) -> Complex:
    return Complex(z.real.double(), z.imag.double())


@learned
def cpu(z: Complex, *_: Any, **__: Any) -> Complex:
    return z


@learned
def copy_(z: Complex, other: Any, non_blocking: bool = False) -> Complex:
    return z._change(Complex.of(other).expand(z.shape))


@learned
def fill_(z: Complex, value: Any) -> Complex:
    return z._change(Complex.of(value).expand(z.shape))


@learned
def zero_(z: Complex) -> Complex:
    return fill_(z, 0.0)


@learned
def _float(z: Complex, **_: Any) -> Tensor:
    return z.real.float()


@learned
def double(z: Complex, **_: Any) -> Tensor:
    return z.real.double()


def _filled(name: str, value: int) -> Any:
    def fill(z: Complex, *sizes: Any, dtype: torch.dtype | None = None, **_: Any) -> Any:
        given = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        return _full(z, given if name.startswith("new") else z.shape, value, dtype)

    fill.__name__ = name
    return fill


for _kind, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    learned(_filled(f"{_kind}_like", _value))
    learned(_filled(f"new_{_kind}", _value))


@learned
def full_like(z: Complex, value: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full(z, z.shape, value, dtype)


@learned
def new_full(
    z: Complex, size: Any, fill_value: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> Any:
    return _full(z, size, fill_value, dtype)


def _full(z: Complex, size: Any, value: Any, dtype: torch.dtype | None) -> Any:
    dtype = z.dtype if dtype is None else dtype
    if not dtype.is_complex:
        return torch.full(size, value, dtype=dtype)
    x, y = (torch.full(size, part, dtype=real_type(dtype)) for part in parts(value))
    return Complex(x, y)


# -- Joining and choosing ------------------------------------------------------------------------


def _joining(name: str) -> Any:
    def join(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> Complex:
        each = [Complex.of(tensor) for tensor in tensors]
        function = getattr(torch, name)
        x = function([z.real for z in each], *args, **kwargs)
        return Complex(x, function([z.imag for z in each], *args, **kwargs))

    join.__name__ = name
    return join


def _each_of_several(name: str) -> Any:
    """Of functions that give a tensor for each that they get."""

    def work(*tensors: Any, **kwargs: Any) -> Any:
        several = tensors[0] if isinstance(tensors[0], list | tuple) else tensors
        each = [Complex.of(tensor) for tensor in several]
        function = getattr(torch, name)
        x = function(*(z.real for z in each), **kwargs)
        y = function(*(z.imag for z in each), **kwargs)
        return Complex(x, y) if isinstance(x, Tensor) else tuple(map(Complex, x, y))

    work.__name__ = name
    return work


for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "meshgrid"):
    learned(_each_of_several(_name))


for _name in ("cat", "stack", "hstack", "vstack", "dstack", "column_stack"):
    learned(_joining(_name))


@learned
def block_diag(*tensors: Any) -> Complex:
    each = [Complex.of(tensor) for tensor in tensors]
    join: Any = torch.block_diag
    return Complex(join(*(z.real for z in each)), join(*(z.imag for z in each)))


@learned
def where(condition: Tensor, a: Any, b: Any) -> Complex:
    (x, y), (u, v) = parts(a), parts(b)
    return Complex(torch.where(condition, x, u), torch.where(condition, y, v))


@learned
def masked_fill(z: Complex, mask: Tensor, value: Any) -> Complex:
    x, y = parts(value)
    return Complex(z.real.masked_fill(mask, x), z.imag.masked_fill(mask, y))


@learned
def constant_pad_nd(z: Complex, pad: Sequence[int], value: Any = 0) -> Complex:
    return _padded(z, pad, "constant", value)


@learned
def pad(z: Complex, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Complex:
    return _padded(z, pad, mode, value)


def _padded(z: Complex, pad: Sequence[int], mode: str, value: Any) -> Complex:
    x, y = parts(0.0 if value is None else value)
    if mode != "constant":
        x = y = None
    function = torch.nn.functional.pad
    return Complex(function(z.real, pad, mode, x), function(z.imag, pad, mode, y))


def _writing(name: str) -> Any:
    """Of those that put complex values into a copy: index_copy(self, dim, index, values)."""

    def write(z: Any, *args: Any, **kwargs: Any) -> Complex:
        z = Complex.of(z)
        pairs = [parts(arg) if is_complex(arg) else (arg, arg) for arg in args]
        if name in _OF_A_VALUE:
            pairs[-1] = parts(args[-1])
        function = getattr(torch, name)
        x = function(z.real, *(first for first, _ in pairs), **kwargs)
        return Complex(x, function(z.imag, *(second for _, second in pairs), **kwargs))

    write.__name__ = name
    return write


# The last of whose arguments may be a real number.
_OF_A_VALUE = ("index_fill", "scatter")

for _name in (
    "diagonal_scatter",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "masked_scatter",
    "scatter",
    "scatter_add",
    "select_scatter",
    "slice_scatter",
):
    learned(_writing(_name))


# -- Reductions ----------------------------------------------------------------------------------


@learned
def var(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return z.real.var(*args, **kwargs) + z.imag.var(*args, **kwargs)


@learned
def std(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return var(z, *args, **kwargs).sqrt()


@learned
def var_mean(z: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Complex]:
    x, y = torch.var_mean(z.real, *args, **kwargs), torch.var_mean(z.imag, *args, **kwargs)
    return x[0] + y[0], Complex(x[1], y[1])


@learned
def std_mean(z: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Complex]:
    variance, average = var_mean(z, *args, **kwargs)
    return variance.sqrt(), average


@learned
def prod(z: Complex, dim: int | None = None, keepdim: bool = False, **_: Any) -> Complex:
    """By halves, each of which is multiplied by the other."""
    if z.dim() == 0:
        return z
    if dim is None:
        z, dim = z.flatten(), 0
    z = z.movedim(dim, 0)
    if z.shape[0] == 0:
        z = Complex(torch.ones_like(z.real.sum(0)), torch.zeros_like(z.real.sum(0))).unsqueeze(0)
    while (n := z.shape[0]) > 1:
        product = z[: n // 2] * z[n // 2 : n // 2 * 2]
        z = cat([product, z[n // 2 * 2 :]]) if n % 2 else product
    return z.movedim(0, dim) if keepdim else z[0]


@learned
def cumprod(z: Complex, dim: int, **_: Any) -> Any:
    """By steps that double how many factors are multiplied already."""
    if z.dim() == 0:
        return z
    z = z.movedim(dim, 0)
    step = 1
    while step < z.shape[0]:
        z = cat([z[:step], z[step:] * z[:-step]])
        step *= 2
    return z.movedim(0, dim)


@learned
def vector_norm(z: Complex, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    return torch.linalg.vector_norm(z.abs(), *args, **kwargs)


Complex.functions["linalg_vector_norm"] = vector_norm


@learned
def norm(z: Complex, p: Any = "fro", dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    if p == "nuc":
        raise TypeError("an export has not learned the nuclear norm of complex numbers")
    return torch.norm(z.abs(), p, dim, keepdim)


@learned
def linalg_norm(z: Complex, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    is_of_matrices = (
        z.dim() if dim is None else len(dim) if isinstance(dim, list | tuple) else 1
    ) == 2
    if ord is not None and is_of_matrices and ord in ("nuc", 2, -2):
        raise TypeError(f"an export has not learned the norm {ord!r} of complex matrices")
    return torch.linalg.norm(z.abs(), ord, dim, keepdim)


@learned
def linalg_matrix_norm(
    z: Complex, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False
) -> Any:
    return linalg_norm(z, ord, dim, keepdim)


@learned
def dist(z: Any, other: Any, p: Any = 2) -> Any:
    return torch.linalg.vector_norm(Complex.of(z).sub(other).abs(), p)


@learned
def normalize(z: Complex, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Complex:
    return z.div(vector_norm(z, p, dim, True).clamp_min(eps))


@learned
def count_nonzero(z: Complex, dim: Any = None) -> Tensor:
    return torch.count_nonzero(_is_true(z), dim)


@learned
def _all(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return _is_true(z).all(*args, **kwargs)


@learned
def _any(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return _is_true(z).any(*args, **kwargs)


# -- Comparisons ---------------------------------------------------------------------------------


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
    return ~_is_true(z)


@learned
def logical_and(z: Any, other: Any) -> Tensor:
    return _is_true(z) & _is_true(other)


@learned
def logical_or(z: Any, other: Any) -> Tensor:
    return _is_true(z) | _is_true(other)


@learned
def logical_xor(z: Any, other: Any) -> Tensor:
    return _is_true(z) ^ _is_true(other)


@learned
def isclose(
    z: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    z, other = Complex.of(z), Complex.of(other)
    is_close = eq(z, other) | (isfinite(z) & (z.sub(other).abs() <= atol + rtol * other.abs()))
    return is_close | (isnan(z) & isnan(other)) if equal_nan else is_close


def _is_true(z: Any) -> Tensor:
    x, y = parts(Complex.of(z))
    return (x != 0) | (y != 0)  # type: ignore[no-any-return]


# -- Products ------------------------------------------------------------------------------------


def _multilinear(name: str, function: Any) -> Any:
    """Of a function that is linear in each of its first operands, two or a sequence of any."""

    def multiplied(*operands: Any, **kwargs: Any) -> Complex:
        rest = [each for each in operands if not isinstance(each, Tensor | Complex)]
        factors = [Complex.of(each) for each in operands if isinstance(each, Tensor | Complex)]
        x: Any = 0
        y: Any = 0
        for chosen in itertools.product((0, 1), repeat=len(factors)):
            terms = [z.imag if part else z.real for z, part in zip(factors, chosen, strict=True)]
            term = function(*terms, *rest, **kwargs)
            power = sum(chosen) % 4  # of i
            if power % 2 == 0:
                x = x + term if power == 0 else x - term
            else:
                y = y + term if power == 1 else y - term
        return Complex(x, y)

    multiplied.__name__ = name
    return multiplied


for _name in ("bmm", "dot", "inner", "kron", "matmul", "mm", "mv", "outer", "tensordot", "cross"):
    learned(_multilinear(_name, getattr(torch, _name)))
for _name in (*(f"conv{d}d" for d in "123"), *(f"conv_transpose{d}d" for d in "123"), "linear"):
    _product = _multilinear(_name, getattr(torch.nn.functional, _name))

    def _with_bias(
        x: Any, weight: Any, bias: Any = None, *rest: Any, product: Any = _product, **kwargs: Any
    ) -> Complex:
        channels_last = product.__name__ == "linear"
        result: Complex = product(x, weight, *(() if channels_last else (None,)), *rest, **kwargs)
        if bias is None:
            return result
        trailing = 0 if channels_last else int(product.__name__[-2])
        return result.add(Complex.of(bias).reshape(-1, *[1] * trailing))

    _with_bias.__name__ = _name
    learned(_with_bias)


@learned
def einsum(equation: str, *operands: Any) -> Complex:
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    return _multilinear("einsum", functools.partial(torch.einsum, equation))(*operands)  # type: ignore[no-any-return]


@learned
def vdot(z: Any, w: Any) -> Any:
    return torch.dot(Complex.of(z).conj(), w)  # type: ignore[arg-type]


@learned
def linalg_vecdot(z: Any, w: Any, *, dim: int = -1) -> Any:
    return Complex.of(z).conj().mul(w).sum(dim)


@learned
def linalg_matrix_power(z: Complex, n: int) -> Complex:
    if n < 0:
        raise TypeError("an export has not learned inverses of complex matrices")
    eye = torch.eye(z.shape[-1], dtype=z.real.dtype).expand(z.shape)
    power = Complex(eye, torch.zeros_like(eye))
    return functools.reduce(torch.matmul, [z] * n, power)  # type: ignore[arg-type]


@learned
def linalg_multi_dot(tensors: Sequence[Any]) -> Any:
    return functools.reduce(torch.matmul, tensors)


@learned
def addbmm(z: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Complex:
    return Complex.of(z).mul(beta).add(Complex.of(a).matmul(b).sum(0).mul(alpha))


@learned
def addr(z: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Complex:
    return Complex.of(z).mul(beta).add(Complex.of(a).outer(b).mul(alpha))


@learned
def addmm(z: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Complex:
    return Complex.of(z).mul(beta).add(Complex.of(a).matmul(b).mul(alpha))


for _name in ("addmv", "baddbmm"):
    Complex.functions[_name] = addmm


@learned
def addcmul(z: Any, a: Any, b: Any, *, value: Any = 1) -> Complex:
    return Complex.of(z).add(Complex.of(a).mul(b).mul(value))


@learned
def addcdiv(z: Any, a: Any, b: Any, *, value: Any = 1) -> Complex:
    return Complex.of(z).add(Complex.of(a).div(b).mul(value))


@learned
def lerp(z: Any, end: Any, weight: Any) -> Complex:
    return Complex.of(z).add(Complex.of(end).sub(z).mul(weight))


# -- Elementary functions ------------------------------------------------------------------------


def _times_i(z: Complex) -> Complex:
    return Complex(-z.imag, z.real)


def _over_i(z: Complex) -> Complex:
    return Complex(z.imag, -z.real)


@learned
def exp(z: Complex) -> Complex:
    """The exponential, real where the number is: also where it is too large.

    Of minus infinity nothing is left, whatever is beside it.
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
    return constant_like(z, 1.0).div(z)


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
    """Of a sum, by the functions of both parts."""
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
    """Where the real part is not negative; it is an odd function."""
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


def constant_like(z: Complex, value: complex) -> Complex:
    """A number for every element."""
    x, y = parts(value)
    return Complex(torch.full_like(z.real, x), torch.full_like(z.real, y))


def cat(tensors: Sequence[Complex]) -> Complex:
    return Complex.functions["cat"](tensors)  # type: ignore[no-any-return]
