"""Products of complex vectors, matrices and images, as functions of their parts."""
# ruff: noqa: D103

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.complex_parts import Complex, learned


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
