"""How far a run may be from the module's own results.

An element may be off by ``relative * |expected| + absolute * scale`` (tracing/closeness.py), with
limits by the type of a result and by what it is computed in (precision.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from polystate.export.tracing import closeness

Tolerance = tuple[float, float]  # relative, absolute
ToleranceByType = Mapping[torch.dtype, Tolerance]  # by a result's own type

# Other kernels add in another order; half precision keeps 8 to 11 bits; rounding of activations to
# 8 bits may fall to the other side, a step of the quantizer. Doubles may be off by a million of
# their own roundings, but by none of float32.
_DOUBLE = (1e-9, 1e-9)
_SINGLE = (1e-4, 2e-5)
_HALF = (2e-2, 2e-3)
_QUANTIZED = (2e-2, 2e-2)

# A result of smaller numbers is compared as if its largest were this. `polystate doctor` has 1:
# it cannot tell what the rounding of another machine decides.
LEAST = 1e-2


def tolerances(dtypes: set[str], quantization: str | None) -> Tolerance:
    """The relative and the absolute tolerance of all results of a program together.

    Parameters
    ----------
    dtypes
        Of all inputs, outputs and state, as the manifest names them.
    """
    if quantization is not None:
        return _QUANTIZED
    return _HALF if dtypes & {"float16", "bfloat16"} else _SINGLE


def tolerances_by_type(
    widths: Mapping[torch.dtype, int], quantization: str | None
) -> ToleranceByType:
    """The tolerance of each type of a program's results.

    Parameters
    ----------
    widths
        As `precision.narrowest_widths` gives them.
    """
    single = _QUANTIZED if quantization is not None else _SINGLE
    half = _QUANTIZED if quantization is not None else _HALF
    by_width = {8: _DOUBLE, 4: single, 2: half}
    return {dtype: by_width.get(width, half) for dtype, width in widths.items()}


def widest(by_type: ToleranceByType) -> Tolerance:
    """The one tolerance under which results of every type are right that are so by their own."""
    pairs = list(by_type.values()) or [_SINGLE]
    return max(relative for relative, _ in pairs), max(absolute for _, absolute in pairs)


def first_deviation(
    found: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance | ToleranceByType,
    *,
    nan_counts: bool = True,
    least: float = LEAST,
) -> str | None:
    """The first element that is off by more than the tolerance, in words.

    Parameters
    ----------
    nan_counts
        Whether elements that are to be NaN are looked at.
    least
        The least scale.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return (
            f"it is {found.dtype} {list(found.shape)}, not {expected.dtype} {list(expected.shape)}"
        )
    if torch.equal(found, expected):
        return None
    limits = closeness.Limits(*of_type(tolerance, found.dtype), least=least)
    if found.dtype.is_floating_point and _is_surely_near(found, expected, limits):
        return None
    off = _deviating(found, expected, limits, nan_counts=nan_counts)
    if not bool(off.any()):
        return None
    place = tuple(off.nonzero()[0].tolist())
    return f"{list(place)} is {_number(found[place])}, expected {_number(expected[place])}"


def deviating(
    found: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance | ToleranceByType,
    *,
    nan_counts: bool = True,
) -> torch.Tensor:
    """Which elements of two tensors of one form are off by more than the tolerance."""
    limits = closeness.Limits(*of_type(tolerance, found.dtype), least=LEAST)
    return _deviating(found, expected, limits, nan_counts=nan_counts)


def _deviating(
    found: torch.Tensor, expected: torch.Tensor, limits: closeness.Limits, *, nan_counts: bool
) -> torch.Tensor:
    if not found.dtype.is_floating_point:
        return found != expected
    off = closeness.deviating(found, expected, limits)
    return off if nan_counts else off & ~expected.isnan()


def _is_surely_near(found: torch.Tensor, expected: torch.Tensor, limits: closeness.Limits) -> bool:
    """Whether no element is off, as most often; it takes less time than looking at each."""
    largest = float(expected.abs().max())
    if not largest <= limits.equal:  # then not all elements may count for the scale
        return False
    near = limits.absolute * max(limits.least, largest)
    return float((found - expected).abs().max()) <= near


def of_type(tolerance: Tolerance | ToleranceByType, dtype: torch.dtype) -> Tolerance:
    """The tolerance of a result of a type."""
    if isinstance(tolerance, Mapping):
        return tolerance.get(dtype, _SINGLE)
    return tolerance


def _number(element: torch.Tensor) -> str:
    value = element.item()
    return f"{value:.8g}" if isinstance(value, float) else str(value).lower()
