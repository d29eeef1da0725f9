"""Finds operators whose results PyTorch does not define, while a module runs on drawn values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from polystate.export.contract.kernel_conditions import are_pivots
from polystate.export.tracing.asking_functions import segment_reduce
from polystate.export.verification.dispatch import Operators

aten = torch.ops.aten


class Undefined(Operators):
    """Notes operators whose results PyTorch leaves to chance, where programs may differ.

    Some of them end the process in PyTorch. Here they give what programs give: the smallest
    integer, divided by -1, is itself, and segments, pivots and rows outside of a tensor are
    refused.

    Attributes
    ----------
    reason
        What was found first, in words; None where all results are defined.
    is_drawn
        Whether undefined elements get other values at random.
    """

    def __init__(self, *, is_drawn: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reason: str | None = None
        self.is_drawn = is_drawn

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Look at the operator's arguments, then call it."""
        packet = function._overloadpacket
        if packet in _FACTORISATIONS and "out" not in kwargs:
            return self._factorised(function, args, kwargs)
        kind = _KIND_OF.get(packet)
        if kind is None or not kind.is_met(args, kwargs):
            return self._called(function, args, kwargs)
        self.reason = self.reason or kind.reason
        if not self.is_drawn:
            return self._called(function, args, kwargs)
        places = kind.found_places(args, kwargs)  # of arguments before they change
        result = self._called(function, args, kwargs)
        self.draw_undefined(result, places, args[kind.written] if kind.written else None)
        return result

    def _factorised(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator that says for which matrices its first result has a meaning."""
        results = function(*args, **kwargs)
        result, info = results[0], results[-1]
        places = (info != 0).reshape([*info.shape, *[1] * (result.dim() - info.dim())])
        if bool(places.any()):
            self.reason = self.reason or "a result for a matrix that is singular or not definite"
            if self.is_drawn:
                self.draw_undefined(result, places, None)
        return results

    def draw_undefined(
        self, result: torch.Tensor, places: torch.Tensor, written: torch.Tensor | None
    ) -> None:
        """Give the undefined elements of a result other values.

        Parameters
        ----------
        places
            Which elements these are, as a mask that broadcasts.
        written
            The values that an operator writes to them; any of these may be the one that stays.
        """

    def _called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        packet = function._overloadpacket
        if packet in _MULTIPLES and "out" not in kwargs and _has_smallest(args, kwargs):
            result = _MULTIPLES[packet](*(_without_smallest(each) for each in args[:2]))
            return args[0].copy_(result) if function._schema.is_mutable else result
        if packet == aten.segment_reduce and "out" not in kwargs:
            found = segment_reduce(*args, **kwargs)
            return function(*args, **kwargs) if found is NotImplemented else found
        if packet in _CRASHING and "out" not in kwargs:
            _CRASHING[packet](*args, **kwargs)
        rounds = packet not in _TRUE_DIVISIONS or kwargs.get("rounding_mode") is not None
        if packet in _DIVISIONS and rounds and _overflows(*args[:2]):
            return packet(args[0], _defined_divisor(*args[:2]), *args[2:], **kwargs)
        return function(*args, **kwargs)


# Which return a code of each matrix at last. Where it is not 0, the first result has no meaning.
_FACTORISATIONS = {aten.linalg_cholesky_ex, aten.linalg_inv_ex, aten._linalg_solve_ex}


def _refuse_pivots(_: torch.Tensor, pivots: torch.Tensor, *args: Any, **kwargs: Any) -> None:
    if not bool(are_pivots(pivots)):
        raise RuntimeError("linalg_ldl_solve: pivots are not those of a factorization")


def _refuse_rows(indices: torch.Tensor, size: int, **_: Any) -> None:
    if not bool(((indices >= 0) & (indices < size)).all()):
        raise RuntimeError("a row of a sparse tensor lies outside of it")


def _refuse_counts(crow: torch.Tensor, columns: torch.Tensor, **_: Any) -> None:
    most = columns.shape[-1]
    if not bool((crow.diff(dim=-1) >= 0).all() and ((crow >= 0) & (crow <= most)).all()):
        raise RuntimeError("counts of rows of a sparse tensor decrease or lie outside of it")


# What PyTorch's kernels do not look at, and end the process for.
_CRASHING: dict[Any, Callable[..., None]] = {
    aten._convert_indices_from_coo_to_csr: _refuse_rows,
    aten._convert_indices_from_csr_to_coo: _refuse_counts,
    aten.linalg_ldl_solve: _refuse_pivots,
}

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


def _has_smallest(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    return any(bool(_smallest(each).any()) for each in args[:2])


def _of_smallest(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    return _smallest(args[0]) | _smallest(args[1])


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


def _cast_places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    return _unfitting(args[0], kwargs.get("dtype") or args[0].dtype)


def _copy_places(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    return _unfitting(args[1], args[0].dtype)


def _unfitting(source: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Which floats an integer type cannot hold, rounded towards zero; of others none."""
    is_whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if not is_whole or not source.dtype.is_floating_point:
        return torch.zeros((), dtype=torch.bool)
    limits = torch.iinfo(dtype)
    values = source.to(torch.float64)
    return ~((values > limits.min - 1.0) & (values < limits.max + 1.0))


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


def _put_places(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    counts = torch.zeros(args[0].shape, dtype=torch.int32)
    one = torch.ones((), dtype=torch.int32)
    return torch.index_put(counts, args[1], one, accumulate=True) > 1


def _puts_in_a_row_twice(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``put(x, index, source, accumulate=False)`` writes to one place twice."""
    accumulates = args[3] if len(args) > 3 else kwargs.get("accumulate", False)
    return not accumulates and _repeats(args[1].flatten() % max(args[0].numel(), 1), 0)


def _places_in_a_row(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    counts = torch.zeros(args[0].shape, dtype=torch.int32)
    ones = torch.ones(args[1].shape, dtype=torch.int32)
    return counts.put_(args[1], ones, accumulate=True) > 1


def _unpooled_places(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    indices, sizes = args[1:3]
    first = -len(sizes)
    outer = indices.shape[:first]
    counts = torch.zeros([*outer, math.prod(sizes)], dtype=torch.int32)
    counts.scatter_add_(-1, indices.flatten(first), torch.ones_like(indices.flatten(first)).int())
    return counts.reshape([*outer, *sizes]) > 1


def _copies_twice(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    return _repeats(args[2] % max(args[0].shape[args[1]] if args[0].dim() else 1, 1), 0)


def _copied_places(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    if not args[0].dim():
        return torch.ones((), dtype=torch.bool)
    counts = torch.zeros(args[0].shape[args[1]], dtype=torch.int32)
    counts.index_add_(0, args[2], torch.ones_like(args[2], dtype=torch.int32))
    behind = args[0].dim() - 1 - args[1] % args[0].dim()
    return (counts > 1).reshape(-1, *[1] * behind)


def _scatters_twice(args: tuple[Any, ...], _: dict[str, Any]) -> bool:
    return isinstance(args[3], torch.Tensor) and _repeats(args[2], args[1])


def _scattered_places(args: tuple[Any, ...], _: dict[str, Any]) -> torch.Tensor:
    counts = torch.zeros(args[0].shape, dtype=torch.int32)
    ones = torch.ones(args[2].shape, dtype=torch.int32)
    return counts.scatter_add(args[1], args[2], ones) > 1


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


class _Kind(NamedTuple):
    """Operators with undefined results: which elements are undefined, and why.

    `has_any` tells faster whether there are such elements. Both may raise on arguments that they do
    not know. This must not look like an error of the module: all elements then count as undefined,
    and the operator itself refuses arguments that are wrong.
    """

    packets: set[Any]
    places: Callable[[tuple[Any, ...], dict[str, Any]], torch.Tensor]
    reason: str
    has_any: Callable[[tuple[Any, ...], dict[str, Any]], bool] | None = None
    written: int = 0  # the place of the argument whose elements are written

    def is_met(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call has undefined elements."""
        if self.has_any is None:
            return bool(self.found_places(args, kwargs).any())
        try:
            return self.has_any(args, kwargs)
        except Exception:
            return True

    def found_places(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        """Which elements are undefined, as a mask that broadcasts."""
        try:
            return self.places(args, kwargs)
        except Exception:
            return torch.ones((), dtype=torch.bool)


_OUT_OF_RANGE = "a number that an integer type cannot hold"
_TWICE = "two writes to one place"

_KINDS = (
    _Kind({aten._to_copy}, _cast_places, _OUT_OF_RANGE),
    _Kind({aten.copy_}, _copy_places, _OUT_OF_RANGE),
    _Kind(
        {aten.index_put, aten.index_put_, aten._index_put_impl_},
        _put_places,
        _TWICE,
        _puts_twice,
        written=2,
    ),
    _Kind({aten.put, aten.put_}, _places_in_a_row, _TWICE, _puts_in_a_row_twice, written=2),
    _Kind({aten.max_unpool2d, aten.max_unpool3d}, _unpooled_places, _TWICE),
    _Kind({aten.index_copy, aten.index_copy_}, _copied_places, _TWICE, _copies_twice, written=3),
    _Kind({aten.scatter, aten.scatter_}, _scattered_places, _TWICE, _scatters_twice, written=3),
    _Kind(set(_MULTIPLES), _of_smallest, "a multiple or divisor of the smallest integer"),
)
_KIND_OF = {packet: kind for kind in _KINDS for packet in kind.packets}
