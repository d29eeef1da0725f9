"""How far the results of a module depend on how its operators round.

After each operator that rounds, its result is changed at random by about as much as other kernels
may round otherwise (Monte Carlo arithmetic, Parker 1997). What this changes much, such as which of
two nearly equal logits is the largest, no two implementations have in common. Nor do they the order
of equal elements that are sorted in any order, which is changed at random, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from polystate.export.graph.operands import all_arguments
from polystate.export.tracing.eager import Outcome
from polystate.export.tracing.pairs import as_pairs
from polystate.export.verification.outcomes import pairs
from polystate.export.verification.tolerances import (
    Tolerance,
    ToleranceByType,
    deviating,
    first_deviation,
    of_type,
)
from polystate.export.verification.undefined import Undefined
from polystate.ops import groupwise, quantized

aten = torch.ops.aten

# In units of the last place. Sums of thousands of float32 in another order are off by some.
_UNITS = {torch.float32: 8.0, torch.float64: 8.0}
_HALF_UNITS = 1.0

# Operators that round their rows to 8 bits, with the steps. After some layers, their inputs are off
# by about a millionth of a row's largest element, which is this part of a step.
_QUANTIZING = {
    torch.ops.polystate.quantized_linear: quantized.steps,
    torch.ops.polystate.groupwise_linear: groupwise.steps,
}
_PART_OF_STEP = 1e-3

# Operators that move, choose or round elements, so that their results are exact.
_EXACT = """
    clone copy_ _to_copy cat stack index index_select gather index_put index_put_ index_copy
    index_copy_ put put_ scatter scatter_ masked_fill masked_fill_ masked_select where embedding
    constant_pad_nd roll flip repeat sort topk max min amax amin maximum minimum clamp clamp_
    clamp_min clamp_max relu relu_ abs neg sign floor ceil round trunc fill_ zero_ tril triu
    max_pool2d_with_indices max_unpool2d max_unpool3d equal _local_scalar_dense lift_fresh detach
"""
_EXACT_OPERATORS = {getattr(aten, name) for name in _EXACT.split()}

# Operators that change running statistics, whether their schemas say so or not.
_BATCH_NORMS = {aten.native_batch_norm, aten._native_batch_norm_legit}

# Operators that take the mean of their first argument from it: of elements that are all alike, the
# mean's rounding error is what is left.
_CENTRING = {aten.native_layer_norm, aten.native_group_norm, *_BATCH_NORMS}

# Operators that return indices of elements that they choose or sort: of equal elements, any.
_CHOICES = "sort argsort topk kthvalue median nanmedian mode"
_CHOOSING = {getattr(aten, name) for name in _CHOICES.split()}


class Rounding(Undefined):  # type: ignore[no-untyped-call]
    """Changes what operators compute within their rounding errors, and the order of equals.

    Parameters
    ----------
    is_drawn
        Whether undefined results are changed, too.
    """

    def __init__(self, seed: int, *, is_drawn: bool = True) -> None:
        super().__init__(is_drawn=is_drawn)
        self._generator = torch.Generator().manual_seed(seed)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator and change its results."""
        args = self._prepared(function, args)
        if function._overloadpacket in _CHOOSING:
            return self._among_equals(function, args, kwargs)
        results = super().call(function, args, kwargs)
        if function._overloadpacket in _BATCH_NORMS:
            self._round_statistics(**all_arguments(function, args, kwargs))
        if function._overloadpacket == aten._euclidean_dist:
            self._round_roots(results, *args[:2])
        elif function._overloadpacket not in _EXACT_OPERATORS and not function.is_view:
            self._round_results(function, args, kwargs, results)
        return results

    def _prepared(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Change what an operator gets where that shows how its results may be off."""
        steps = _QUANTIZING.get(function._overloadpacket)
        if steps is not None:
            return (self._moved_by_less_than_a_step(args[0], steps(args[0])), *args[1:])
        if function._overloadpacket in _CENTRING:
            moved = args[0].clone()
            self._round(moved, None)
            return (moved, *args[1:])
        return args

    def _round_results(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any
    ) -> None:
        is_elementwise = _rounds_by_its_own_size(function)
        for result in results if isinstance(results, tuple | list) else (results,):
            if not isinstance(result, torch.Tensor) or result._is_zerotensor():
                continue  # the tangent of a constant, which has no memory
            if result.is_complex():
                self._round_parts(as_pairs(result), is_elementwise)
            elif result.dtype.is_floating_point:
                self._round(result, _rounded_sizes(function, args, kwargs, result))

    def draw_undefined(
        self, result: torch.Tensor, places: torch.Tensor, written: torch.Tensor | None
    ) -> None:
        """Give the undefined elements values of others, or integers the ends of their type."""
        places = places.expand(result.shape)
        count = int(places.sum())
        known = [result] if written is None else [result, written.to(result.dtype)]
        drawn = self._chosen(torch.cat([each.flatten() for each in known]), count)
        if result.is_floating_point() or result.is_complex():
            result[places] = drawn * (1 + torch.rand(count, generator=self._generator)).to(drawn)
            return
        is_bool = result.dtype == torch.bool
        limits = None if is_bool else torch.iinfo(result.dtype)
        ends = [False, True] if limits is None else [limits.min, limits.max]
        is_end = torch.rand(count, generator=self._generator) < 0.5
        ended = self._chosen(torch.tensor(ends, dtype=result.dtype), count)
        result[places] = torch.where(is_end, ended, drawn)

    def _chosen(self, values: torch.Tensor, count: int) -> torch.Tensor:
        return values[torch.randint(values.numel(), (count,), generator=self._generator)]

    def _moved_by_less_than_a_step(self, rows: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        """Change rows that are about to be quantized, so that some elements round otherwise."""
        part = torch.rand(rows.shape, generator=self._generator).sub_(0.5).mul_(2 * _PART_OF_STEP)
        return rows + (part * steps).to(rows.dtype)

    def _among_equals(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator on its elements in random order; indices are those of their order."""
        given = all_arguments(function, args, kwargs)
        values, dimension = args[0], given.get("dim")
        if given.get("stable") or not isinstance(dimension, int) or not values.dim():
            return super().call(function, args, kwargs)
        order = torch.randperm(values.shape[dimension], generator=self._generator)
        results = function(values.index_select(dimension, order), *args[1:], **kwargs)
        indices = results if isinstance(results, torch.Tensor) else results[1]
        indices.copy_(order[indices])
        return results

    def _round_parts(self, parts: torch.Tensor, is_elementwise: bool) -> None:
        """Change pairs [..., 2]: errors of a part are relative to the whole number."""
        if not is_elementwise:
            self._round(parts, _largest(parts))
            return
        sizes = parts.abs().amax(-1, keepdim=True)
        parts.add_(self._errors(parts) * sizes.where(sizes.isfinite(), 0))

    def _round_statistics(
        self,
        *,
        input: torch.Tensor,
        running_mean: torch.Tensor | None = None,
        running_var: torch.Tensor | None = None,
        training: bool,
        momentum: float,
        **_: Any,
    ) -> None:
        """Change running statistics, which are not results, relative to the averaged values."""
        if not training or not input.numel():
            return
        largest = input.abs().transpose(0, 1).flatten(1).amax(1).double()
        for running, sizes in ((running_mean, largest), (running_var, largest.square())):
            if running is not None:
                self._round(running, torch.maximum(running.abs().double(), momentum * sizes))

    def _round_roots(self, distances: torch.Tensor, *rows: torch.Tensor) -> None:
        """Change distances as roots of sums of the rows' squares, which may cancel.

        Distances of equal rows can only grow, so that perhaps none of them stays 0.
        """
        squares = distances.square()
        terms = sum(_largest(each.square().sum(-1)) for each in rows)
        self._round(squares, max(_largest(squares), terms))
        distances.copy_(squares.abs_().sqrt_())

    def _errors(self, result: torch.Tensor, around: float = 0.0) -> torch.Tensor:
        """Draw each element's relative error, plus a number: 1 gives factors.

        For results of 16 bits the errors are float32.
        """
        units = _UNITS.get(result.dtype, _HALF_UNITS) * torch.finfo(result.dtype).eps
        dtype = torch.promote_types(result.dtype, torch.float32)
        drawn = torch.empty(result.shape, dtype=dtype)
        return drawn.uniform_(around - units, around + units, generator=self._generator)

    def _round(self, result: torch.Tensor, sizes: torch.Tensor | float | None) -> None:
        """Change elements by units in the last place of these sizes; None: of their own sizes."""
        if sizes is None:
            result.mul_(self._errors(result, around=1.0).to(result.dtype))
        elif isinstance(sizes, torch.Tensor):
            errors = self._errors(result) * sizes.where(sizes.isfinite(), 0)
            result.add_(errors.to(result.dtype))
        elif sizes:
            result.add_(self._errors(result).mul_(sizes).to(result.dtype))


def _rounds_by_its_own_size(function: Any) -> bool:
    """Whether an operator's errors are parts of each element of its result."""
    return torch.Tag.pointwise in function.tags or function._overloadpacket == aten.cumprod


def _rounded_sizes(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor
) -> torch.Tensor | float | None:
    """How large the numbers are from which an operator rounds elements; None: as they are.

    What operators add up may be much larger than what it comes to. Where it is known which element
    follows from what, one large element, as of a mask, says nothing of the others.
    """
    packet = function._overloadpacket
    if _rounds_by_its_own_size(function):
        return None
    if packet in _SUMS and "out" not in kwargs:
        squares = function(args[0].double().square(), *args[1:], **{**kwargs, "dtype": None})
        return torch.maximum(result.abs().double(), squares.sqrt())
    if packet in _LOGARITHMS:
        sizes = result.abs().double() + 1
        if packet == aten._log_softmax:
            sizes += args[0].double().logsumexp(args[1], keepdim=True).abs()
        return sizes
    if packet in _ADDED_PRODUCTS:
        own = torch.maximum(result.abs(), args[0].abs().to(result.dtype))
        return own.double().clamp(min=_largest_product(args[1], args[2]))
    if packet in _RESAMPLING:
        # The place that is read is rounded, and may be as far from the first element as the last.
        return 2.0 * _largest(args[0]) * max(args[0].shape[2:], default=1)
    if packet in _PRODUCTS:
        return max(_largest(result), _largest_product(args[0], args[1]))
    return _largest(result)


_SUMS = {aten.sum, aten.mean, aten.cumsum}
# Of sums of exponentials.
_LOGARITHMS = {aten._log_softmax, aten.logsumexp, aten.logcumsumexp}
_RESAMPLED = """
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa grid_sampler_2d grid_sampler_3d
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_trilinear3d
"""
_RESAMPLING = {getattr(aten, name) for name in _RESAMPLED.split()}
_PRODUCTS = {aten.mm, aten.bmm, aten.mv, aten.dot, aten.linear, aten.convolution}
_ADDED_PRODUCTS = {aten.addmm, aten.addmv, aten.addbmm, aten.baddbmm}


def _largest(x: torch.Tensor) -> float:
    """The size of its largest finite element."""
    if x._is_zerotensor() or not x.numel():
        return 0.0
    x = x if x.is_floating_point() else x.double()
    lowest, highest = (float(end) for end in x.aminmax())
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        finite = x[x.isfinite()]
        return float(finite.abs().max()) if finite.numel() else 0.0
    return max(-lowest, highest)


def _largest_product(first: torch.Tensor, second: torch.Tensor) -> float:
    return _largest(first) * _largest(second)


def is_explained(
    found: Outcome,
    expected: Outcome,
    others: Iterable[Outcome],
    tolerance: Tolerance | ToleranceByType,
    *,
    nan_counts: bool = True,
) -> bool:
    """Tell whether rounding may be all that parts two outcomes of one call.

    Parameters
    ----------
    others
        What the module does with other roundings; no more are taken than are needed.
    nan_counts
        Whether elements that are to be NaN are looked at.
    """
    left = {
        label: _Off.of(value, wanted, tolerance, nan_counts=nan_counts)
        for label, value, wanted in pairs(found, expected)
        if first_deviation(value, wanted, tolerance, nan_counts=nan_counts) is not None
    }
    remaining = iter(others)
    while left and (other := next(remaining, None)) is not None:
        for label, variant, _ in pairs(other, expected):
            if label in left and left[label].is_explained(variant):
                del left[label]
    return not left


@dataclass
class _Off:
    """A result that is not as expected, with the elements that nothing explains yet."""

    value: torch.Tensor
    wanted: torch.Tensor
    elements: torch.Tensor
    relative: float  # of the tolerance

    @classmethod
    def of(
        cls,
        value: torch.Tensor,
        wanted: torch.Tensor,
        tolerance: Tolerance | ToleranceByType,
        *,
        nan_counts: bool,
    ) -> _Off:
        relative = of_type(tolerance, wanted.dtype)[0]
        if value.shape == wanted.shape and value.dtype == wanted.dtype:
            elements = deviating(value, wanted, tolerance, nan_counts=nan_counts)
            return cls(value, wanted, elements, relative)
        return cls(value, wanted, torch.ones_like(wanted, dtype=torch.bool), relative)

    def is_explained(self, variant: torch.Tensor) -> bool:
        """Whether all elements are explained by this variant and those before it.

        A result of another size is explained by any variant of another size than expected.
        """
        if self.value.dtype != self.wanted.dtype:
            return False
        if self.value.shape != self.wanted.shape:
            return variant.shape != self.wanted.shape
        if variant.shape != self.wanted.shape:
            return False
        self.elements &= ~_reaches(variant, self.value, self.wanted, self.relative)
        return not bool(self.elements.any())


# Other kernels may be off by this many times what other roundings showed.
_FACTOR = 4.0
# Of a million normally distributed numbers, none is this many times the usual one.
_FACTOR_OF_USUAL = 8.0
# The row that moved most counts for the others up to this many times the tolerance.
_FACTOR_OF_TOLERANCE = 5.0


def _reaches(
    variant: torch.Tensor, value: torch.Tensor, wanted: torch.Tensor, relative: float
) -> torch.Tensor:
    """Which elements are off by no more than a variant with other roundings suggests.

    One of three must have moved about as far: the element itself; the usual element of its row (the
    last dimension), since in each variant some elements happen to stay where they were; or,
    relative to their size and within some times the tolerance, the elements of the row that moved
    most, since rounding to a few bits moves some rows much and others not at all. Elements that are
    to be NaN tell nothing of the others.
    """
    if not wanted.dtype.is_floating_point:
        moved, needed = (_distance(each, wanted) for each in (variant, value))
        return (moved > 0) & (_FACTOR * moved >= needed)
    moved, needed = (variant - wanted).abs().float(), (value - wanted).abs().float()
    is_reached = (_FACTOR * moved >= needed) | (moved.isnan() & ~wanted.isnan())
    moved, sizes = (each.masked_fill(wanted.isnan(), 0) for each in (moved, wanted.float()))
    if wanted.dim() == 0 or not bool(moved.isfinite().all()):
        return is_reached
    usual, size = _usual(moved), _usual(sizes)
    most = usual.argmax()
    part = usual.flatten()[most] / size.flatten()[most]
    if bool(part.isfinite()):
        usual = torch.maximum(usual, part.clamp(max=_FACTOR_OF_TOLERANCE * relative) * size)
    return is_reached | (_FACTOR_OF_USUAL * usual >= needed)


def _distance(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """How far integers or bools are apart."""
    return (x.double() - y.double()).abs()


def _usual(elements: torch.Tensor) -> torch.Tensor:
    """How large the elements [..., n] of each row are; [..., 1]."""
    return elements.square().mean(-1, keepdim=True).sqrt()
