"""Which elements of two tensors are off by more than other roundings of one computation.

An element may be off by ``relative * |expected| + absolute * scale``. The scale is the largest
expected magnitude among the elements that differ. Equal elements count for the scale only where
they are not much larger than those: a mask of -1e9, for instance, says nothing of how the others
were rounded. Elements beyond half of the type's range stand for infinity, as in masks: they do not
count for the scale, and equal one another.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class Limits(NamedTuple):
    """How far elements may be off.

    Attributes
    ----------
    relative
        In parts of the element.
    absolute
        In parts of the scale.
    least
        The scale is never smaller.
    equal
        Equal elements count up to this many times the largest that differs, or 1.
    """

    relative: float
    absolute: float
    least: float = 1.0
    equal: float = 100.0


def deviating(found: torch.Tensor, expected: torch.Tensor, limits: Limits) -> torch.Tensor:
    """Which elements of two tensors of one form are off by more than the limits.

    Integers are off if they differ at all. NaN equals itself.
    """
    if not (expected.is_floating_point() or expected.is_complex()):
        return found != expected
    is_equal = (found == expected) | (found.isnan() & expected.isnan())
    if expected.is_floating_point():
        is_infinite = _stands_for_infinity(found) & _stands_for_infinity(expected)
        is_equal |= is_infinite & (found.sign() == expected.sign())
    absolute = limits.absolute * _scale(expected, is_equal, limits)
    return ~(is_equal | torch.isclose(found, expected, limits.relative, absolute))


def _stands_for_infinity(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.abs() > torch.finfo(tensor.dtype).max / 2


def _scale(expected: torch.Tensor, is_equal: torch.Tensor, limits: Limits) -> float:
    sizes, infinite = expected.abs(), torch.finfo(expected.dtype).max / 2
    differing = _largest(sizes, ~is_equal & (sizes <= infinite))  # NaN is left out
    most = min(infinite, limits.equal * max(1.0, differing))
    return max(limits.least, differing, _largest(sizes, is_equal & (sizes <= most)))


def _largest(sizes: torch.Tensor, counts: torch.Tensor) -> float:
    """The largest of those elements that count; 0 where none does."""
    return float(sizes.masked_fill(~counts, 0).max()) if sizes.numel() else 0.0
