"""How far a stage's value is from the expected one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from polystate.export.tracing.eager import Outcome
from polystate.export.verification.rounding import is_explained
from polystate.export.verification.tolerances import Tolerance, first_deviation


@dataclass(frozen=True)
class Difference:
    """How far a value is from the expected one.

    Attributes
    ----------
    absolute
        The largest difference of two elements; of bools 1; infinite where only one is NaN, or the
        shapes or types are not the same.
    relative
        That, in parts of the largest expected magnitude; infinite where that is 0.
    beyond
        Whether some element is off by more than the tolerance, and more than rounding explains.
    first
        The first element that is off by more than the tolerance, in words; empty: there is none.
    """

    absolute: float
    relative: float
    beyond: bool
    first: str = ""


def difference_of(
    found: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance,
    otherwise_rounded: Callable[[], Iterable[torch.Tensor]],
) -> Difference:
    """Compares two values.

    Parameters
    ----------
    otherwise_rounded
        What the expected value is with other roundings, asked for where the tolerance is exceeded.
    """
    first = first_deviation(found, expected, tolerance)
    beyond = first is not None and not is_explained(
        _outcome(found), _outcome(expected), map(_outcome, otherwise_rounded()), tolerance
    )
    return Difference(*largest(found, expected), beyond, first or "")


def largest(found: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    """The largest absolute difference, and that in parts of the largest expected magnitude."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return math.inf, math.inf
    if found.numel() == 0:
        return 0.0, 0.0
    a, b = found.double(), expected.double()
    off = (a - b).abs()
    off = off.masked_fill((a == b) | (a.isnan() & b.isnan()), 0.0)
    absolute = float(off.nan_to_num(nan=math.inf, posinf=math.inf).max())
    magnitude = float(b.abs().nan_to_num(nan=0.0, posinf=0.0).max())
    if absolute == 0:
        return 0.0, 0.0
    return absolute, absolute / magnitude if magnitude else math.inf


def _outcome(value: torch.Tensor) -> Outcome:
    return Outcome([value], [], {})
