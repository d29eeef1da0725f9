"""Functions of single elements, or of one element of each of two tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from polystate.export.graph.operands import number_as
from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten


def _add_number(x: Tensor, number: Any, alpha: Any = 1) -> Any:
    """As a sum of tensors: ExecuTorch's kernel rounds the number to x's type, or refuses it."""
    return aten.add.Tensor(x, number, alpha=alpha)


def _sub_number(x: Tensor, number: Any, alpha: Any = 1) -> Any:
    return aten.sub.Tensor(x, number, alpha=alpha)


def _of_number(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Tensor], Tensor]:
    """Return an operator of integers whose first operand is a number."""

    def of_tensor(number: Any, x: Tensor) -> Tensor:
        dtype = torch.result_type(x, number)
        return operator(torch.full((), number_as(number, dtype), dtype=dtype), x)

    return of_tensor


def _round(x: Tensor, *, decimals: int) -> Tensor:
    """Computes 16-bit floats in single precision, as PyTorch does."""
    power, wide = 10.0 ** abs(decimals), in_single(x)
    found = (
        torch.round(wide * power) / power if decimals >= 0 else torch.round(wide / power) * power
    )
    return found.to(x.dtype)


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """As a product with several powers of two, each of which is in range where the result is."""
    if exponent.is_floating_point() or not x.is_floating_point():
        return x * torch.exp2(exponent)
    computed, largest = (x.dtype, 2200) if x.dtype == torch.float64 else (torch.float32, 300)
    exponent = exponent.to(torch.int32).clamp(-largest, largest).to(computed)
    third = torch.trunc(exponent / 3)
    power = torch.exp2(third)
    return (x.to(computed) * power * power * torch.exp2(exponent - 2 * third)).to(x.dtype)


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    """Rounds 16-bit floats at each step, as PyTorch does."""
    if not x.is_floating_point():
        x = x.to(torch.get_default_dtype())
    clamped = x if eps is None else x.clamp(eps, 1 - eps)
    return torch.log(clamped / (1 - clamped))


def _sign(x: Tensor) -> Any:
    """Gives 0 for NaN; ExecuTorch's kernel does not."""
    if not x.is_floating_point():
        return NotImplemented
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _signbit(x: Tensor) -> Tensor:
    """Is true for -0.0, and false for every NaN."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    if not x.is_floating_point():
        return x < 0
    return torch.where(x == 0, 1 / x, x) < 0


def _copysign(x: Tensor, sign: Tensor) -> Tensor:
    dtype = torch.result_type(x, sign)
    size = x.to(dtype if dtype.is_floating_point else torch.get_default_dtype()).abs()
    return torch.where(_signbit(sign), -size, size)


def _copysign_of_number(x: Tensor, sign: float) -> Tensor:
    size = torch.abs(x * 1.0)  # of integers and bools, too, the result is a float
    return -size if math.copysign(1.0, sign) < 0 else size


def _fmax(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y)))


def _fmin(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y)))


def _angle(x: Tensor) -> Any:
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    return torch.where(x.isnan(), x, (x < 0).to(dtype) * math.pi)


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten.add.Scalar: _add_number,
    aten.angle.default: _angle,
    aten.bitwise_left_shift.Scalar_Tensor: _of_number(aten.bitwise_left_shift.Tensor),
    aten.bitwise_right_shift.Scalar_Tensor: _of_number(aten.bitwise_right_shift.Tensor),
    aten.copysign.Scalar: _copysign_of_number,
    aten.copysign.Tensor: _copysign,
    aten.div.Scalar: aten.div.Tensor,
    aten.fmax.default: _fmax,
    aten.fmin.default: _fmin,
    aten.ldexp.Tensor: _ldexp,
    aten.logit.default: _logit,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.round.decimals: _round,
    aten.sign.default: _sign,
    aten.signbit.default: _signbit,
    aten.sub.Scalar: _sub_number,
}
