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

from polystate.export.tracing.eager import Outcome
from polystate.export.tracing.pairs import as_pairs
from polystate.export.verification.outcomes import pairs
from polystate.export.verification.tolerances import (
    Tolerance,
    ToleranceByType,
    deviating,
    first_deviation,
)
from polystate.export.verification.undefined import Undefined
from polystate.ops import groupwise, quantized

aten = torch.ops.aten

# In units of the last place. Sums of thousands of float32 in another order are off by some.
_UNITS = {torch.float32: 8.0, torch.float64: 8.0}
_HALF_UNITS = 1.0

# Round their rows to 8 bits, and by which steps. What reaches them through some layers is off by
# about a millionth of a row's largest element, which is this part of a step.
_QUANTIZING = {
    torch.ops.polystate.quantized_linear: quantized.steps,
    torch.ops.polystate.groupwise_linear: groupwise.steps,
}
_PART_OF_STEP = 1e-3

# Move, choose or round elements; what comes out is exact.
_EXACT = """
    clone copy_ _to_copy cat stack index index_select gather index_put index_put_ index_copy
    index_copy_ scatter scatter_ masked_fill masked_fill_ masked_select where embedding
    constant_pad_nd roll flip repeat sort topk max min amax amin maximum minimum clamp clamp_
    clamp_min clamp_max relu relu_ abs neg sign floor ceil round trunc fill_ zero_ tril triu
    max_pool2d_with_indices equal _local_scalar_dense lift_fresh detach
"""
_EXACT_OPERATORS = {getattr(aten, name) for name in _EXACT.split()}


# Give indices of what they choose or sort; of equal elements, any.
_CHOICES = "sort argsort topk kthvalue median nanmedian mode"
_CHOOSING = {getattr(aten, name) for name in _CHOICES.split()}


class Rounding(Undefined):  # type: ignore[no-untyped-call]
    """Changes what operators compute within their rounding errors, and the order of equals."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator and change its results."""
        steps = _QUANTIZING.get(function._overloadpacket)
        if steps is not None:
            args = (self._moved_by_less_than_a_step(args[0], steps(args[0])), *args[1:])
        if function._overloadpacket in _CHOOSING:
            return self._among_equals(function, args, kwargs)
        results = super().call(function, args, kwargs)
        if function._overloadpacket == aten._euclidean_dist:
            self._round_roots(results, *args[:2])
            return results
        if function._overloadpacket not in _EXACT_OPERATORS and not function.is_view:
            is_elementwise = torch.Tag.pointwise in function.tags
            for result in results if isinstance(results, tuple | list) else (results,):
                if isinstance(result, torch.Tensor) and result.is_complex():
                    self._round_parts(as_pairs(result), is_elementwise)
                elif isinstance(result, torch.Tensor) and result.dtype.is_floating_point:
                    term = 0.0 if is_elementwise else _largest_term(function, args)
                    self._round(result, is_elementwise, term)
        return results

    def _moved_by_less_than_a_step(self, rows: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        """Rows that are about to be quantized, of which some elements are rounded otherwise."""
        part = torch.rand(rows.shape, generator=self._generator).sub_(0.5).mul_(2 * _PART_OF_STEP)
        return rows + (part * steps).to(rows.dtype)

    def _among_equals(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls an operator on its elements in another order; indices are those of its own."""
        given = _arguments(function, args, kwargs)
        values, dimension = args[0], given.get("dim")
        if given.get("stable") or not isinstance(dimension, int) or not values.dim():
            return super().call(function, args, kwargs)
        order = torch.randperm(values.shape[dimension], generator=self._generator)
        results = function(values.index_select(dimension, order), *args[1:], **kwargs)
        indices = results if isinstance(results, torch.Tensor) else results[1]
        indices.copy_(order[indices])
        return results

    def _round_parts(self, parts: torch.Tensor, is_elementwise: bool) -> None:
        """Changes pairs [..., 2]: a part may be a difference of what is as large as the number."""
        if not is_elementwise:
            self._round(parts, is_elementwise)
            return
        sizes = parts.abs().amax(-1, keepdim=True)
        parts.add_(self._signs(parts) * sizes.where(sizes.isfinite(), 0))

    def _round_roots(self, distances: torch.Tensor, *rows: torch.Tensor) -> None:
        """Changes roots of differences of the rows' squares, which may cancel.

        Of equal rows all are off to one side, so that none of them may be 0.
        """
        squares = distances.square()
        self._round(squares, False, sum(_largest(each.square().sum(-1)) for each in rows))
        distances.copy_(squares.abs_().sqrt_())

    def _signs(self, result: torch.Tensor) -> torch.Tensor:
        units = _UNITS.get(result.dtype, _HALF_UNITS) * torch.finfo(result.dtype).eps
        return torch.rand(result.shape, generator=self._generator).sub_(0.5).mul_(2 * units)

    def _round(self, result: torch.Tensor, is_elementwise: bool, term: float = 0.0) -> None:
        signs = self._signs(result)
        if is_elementwise:
            result.mul_((1 + signs).to(result.dtype))
        else:  # sums, whose terms may be much larger than what they come to
            size = max(_largest(result), term)
            if size:
                result.add_((signs * size).to(result.dtype))


def _arguments(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments of an operator by their names, those that have their defaults included."""
    declared = function._schema.arguments
    given = {each.name: each.default_value for each in declared if each.has_default_value()}
    return given | dict(zip((each.name for each in declared), args, strict=False)) | kwargs


# The operands whose largest elements make the largest of what an operator adds up.
_TERMS = {
    **dict.fromkeys((aten.sum, aten.mean, aten.cumsum), (0,)),
    **dict.fromkeys((aten.mm, aten.bmm, aten.mv, aten.dot), (0, 1)),
    **dict.fromkeys((aten.linear, aten.convolution), (0, 1)),
    **dict.fromkeys((aten.addmm, aten.addmv, aten.addbmm, aten.baddbmm), (1, 2)),
}


def _largest(x: torch.Tensor) -> float:
    """The size of its largest finite element."""
    finite = x[x.isfinite()] if x.is_floating_point() else x.double()
    return float(finite.abs().max()) if finite.numel() else 0.0


def _largest_term(function: Any, args: tuple[Any, ...]) -> float:
    """About the largest of what a sum adds up, which may come to much less."""
    places = _TERMS.get(function._overloadpacket)
    return math.prod(_largest(args[place]) for place in places) if places else 0.0


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
    """A result that is not as expected, and which of its elements nothing explains yet."""

    value: torch.Tensor
    wanted: torch.Tensor
    elements: torch.Tensor

    @classmethod
    def of(
        cls,
        value: torch.Tensor,
        wanted: torch.Tensor,
        tolerance: Tolerance | ToleranceByType,
        *,
        nan_counts: bool,
    ) -> _Off:
        if value.shape == wanted.shape and value.dtype == wanted.dtype:
            elements = deviating(value, wanted, tolerance, nan_counts=nan_counts)
            return cls(value, wanted, elements)
        return cls(value, wanted, torch.ones_like(wanted, dtype=torch.bool))

    def is_explained(self, variant: torch.Tensor) -> bool:
        """Whether another rounding, with those before it, moves all elements as far."""
        if variant.shape != self.wanted.shape:
            return True  # it even decides how much there is
        if self.value.shape != self.wanted.shape or self.value.dtype != self.wanted.dtype:
            return False
        self.elements &= ~_reaches(variant, self.value, self.wanted)
        return not bool(self.elements.any())


# Other kernels may be off by this many times what other roundings showed.
_FACTOR = 4.0
# Of a million numbers with a normal distribution, none is so many times the usual one.
_FACTOR_OF_USUAL = 8.0


def _reaches(variant: torch.Tensor, value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Which elements another rounding moved about as far as they are off.

    Either itself, or the others along the last dimension, of which some variants of some elements
    always happen to stay where they were; or those of the row that it moved most, as a part of
    their size: rounding to a few bits moves some rows much and others not at all. What is to be NaN
    tells nothing of the others.
    """
    if not wanted.dtype.is_floating_point:
        return variant != wanted
    moved, needed = (variant - wanted).abs().float(), (value - wanted).abs().float()
    is_reached = (_FACTOR * moved >= needed) | (moved.isnan() & ~wanted.isnan())
    moved, sizes = (each.masked_fill(wanted.isnan(), 0) for each in (moved, wanted.float()))
    if wanted.dim() == 0 or not bool(moved.isfinite().all()):
        return is_reached
    usual, size = _usual(moved), _usual(sizes)
    most = usual.argmax()
    part = usual.flatten()[most] / size.flatten()[most]
    if bool(part.isfinite()):
        usual = torch.maximum(usual, part * size)
    return is_reached | (_FACTOR_OF_USUAL * usual >= needed)


def _usual(elements: torch.Tensor) -> torch.Tensor:
    """How large the elements [..., n] of each row are; [..., 1]."""
    return elements.square().mean(-1, keepdim=True).sqrt()
