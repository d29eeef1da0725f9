"""Finds operators whose results PyTorch does not define, while a module runs on drawn values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from polystate.export.verification.dispatch import Operators

aten = torch.ops.aten


class Undefined(Operators):
    """Notes what leaves the results of a call to chance; there programs may differ.

    Some of it ends the process in PyTorch itself, and has here the value that programs give: the
    smallest integer, divided by -1, is itself.

    Attributes
    ----------
    reason
        What was found first, in words; None where all results are defined.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reason: str | None = None

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Look at the operator's arguments, then call it."""
        packet = function._overloadpacket
        for packets, is_undefined, reason in _KINDS:
            if self.reason is None and packet in packets and _holds(is_undefined, args, kwargs):
                self.reason = reason
        if packet in _MULTIPLES and "out" not in kwargs and _has_smallest(*args[:2]):
            self.reason = self.reason or "a multiple or divisor of the smallest integer"
            result = _MULTIPLES[packet](*(_without_smallest(each) for each in args[:2]))
            return args[0].copy_(result) if function._schema.is_mutable else result
        rounds = packet not in _TRUE_DIVISIONS or kwargs.get("rounding_mode") is not None
        if packet in _DIVISIONS and rounds and _overflows(*args[:2]):
            return packet(args[0], _defined_divisor(*args[:2]), *args[2:], **kwargs)
        return function(*args, **kwargs)


_SIGNED = {torch.int8, torch.int16, torch.int32, torch.int64}
_TRUE_DIVISIONS = {aten.div, aten.div_}
_DIVISIONS = {
    packet
    for name in ("div", "floor_divide", "fmod", "remainder")
    for packet in (getattr(aten, name), getattr(aten, f"{name}_"))
}


# Which PyTorch computes by divisions that may end the process, and their forms that return.
_MULTIPLES = {aten.gcd: aten.gcd, aten.gcd_: aten.gcd, aten.lcm: aten.lcm, aten.lcm_: aten.lcm}


def _smallest(x: torch.Tensor) -> torch.Tensor:
    return x == torch.iinfo(x.dtype).min if x.dtype in _SIGNED else torch.zeros_like(x).bool()


def _has_smallest(*operands: torch.Tensor) -> bool:
    return any(bool(_smallest(each).any()) for each in operands)


def _without_smallest(x: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(_smallest(x), 0)


def _overflows(dividend: Any, divisor: Any) -> bool:
    """Whether some quotient is one more than the largest integer."""
    is_signed = torch.result_type(dividend, divisor) in _SIGNED
    return is_signed and bool(_overflowing(dividend, divisor).any())


def _defined_divisor(dividend: Any, divisor: Any) -> torch.Tensor:
    """A divisor that gives the right result there, too."""
    return torch.where(_overflowing(dividend, divisor), 1, divisor)


def _overflowing(dividend: Any, divisor: Any) -> torch.Tensor:
    smallest = torch.iinfo(torch.result_type(dividend, divisor)).min
    return (torch.as_tensor(dividend) == smallest) & (torch.as_tensor(divisor) == -1)


def _casts_out_of_range(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    source = args[0]
    if not isinstance(source, torch.Tensor) or not source.dtype.is_floating_point:
        return False
    target = kwargs.get("dtype")
    return target is not None and _does_not_fit(source, target)


def _copies_out_of_range(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    target, source = args[:2]
    return source.dtype.is_floating_point and _does_not_fit(source, target.dtype)


def _does_not_fit(source: torch.Tensor, dtype: torch.dtype) -> bool:
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return False
    limits = torch.iinfo(dtype)
    values = source.to(torch.float64)
    fits = (values > limits.min - 1.0) & (values < limits.max + 1.0)  # rounded towards zero
    return not bool(fits.all())


def _puts_twice(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``index_put(x, indices, values, accumulate=False)`` writes to one place twice."""
    indices, values = args[1], args[2]
    accumulates = args[3] if len(args) > 3 else kwargs.get("accumulate", False)
    given = [index for index in indices if index is not None]
    if accumulates or values.numel() == 1 or any(index.dtype in _MASKS for index in given):
        return False
    wrapped = [
        (index, size)
        for index, size in zip(indices, args[0].shape, strict=False)
        if index is not None and size
    ]
    place = torch.zeros((), dtype=torch.int64)
    for index, size in wrapped:
        place = place * size + index % size
    return _repeats(place.flatten(), 0)


_MASKS = {torch.bool, torch.uint8}


def _copies_twice(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    return _repeats(args[2] % max(args[0].shape[args[1]] if args[0].dim() else 1, 1), 0)


def _scatters_twice(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    return isinstance(args[3], torch.Tensor) and _repeats(args[2], args[1])


def _repeats(values: torch.Tensor, dimension: int) -> bool:
    """Whether equal values lie along a dimension."""
    if not values.dim() or not values.numel():
        return False
    ordered = values.sort(dimension).values
    before, after = (
        ordered.narrow(dimension, start, values.shape[dimension] - 1) for start in (0, 1)
    )
    is_repeated = before == after
    if values.is_floating_point():
        is_repeated |= before.isnan() & after.isnan()
    return bool(is_repeated.any())


_Test = Callable[[tuple[Any, ...], dict[str, Any]], bool]


def _holds(test: _Test, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """What a test finds; true where it fails on arguments that it does not know.

    What it raises must not seem to be raised by the module. What the operator does not take, it
    refuses itself.
    """
    try:
        return test(args, kwargs)
    except Exception:
        return True


_KINDS: tuple[tuple[set[Any], _Test, str], ...] = (
    ({aten._to_copy}, _casts_out_of_range, "a number that an integer type cannot hold"),
    ({aten.copy_}, _copies_out_of_range, "a number that an integer type cannot hold"),
    (
        {aten.index_put, aten.index_put_, aten._index_put_impl_},
        _puts_twice,
        "two writes to one place",
    ),
    ({aten.index_copy, aten.index_copy_}, _copies_twice, "two writes to one place"),
    ({aten.scatter, aten.scatter_}, _scatters_twice, "two writes to one place"),
)
