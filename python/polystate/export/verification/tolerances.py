"""How far a run may be from the module's own results.

An element may be off by ``relative * |expected| + absolute * scale``, where the scale is the
largest magnitude of its tensor, at least one. Elements beyond half of the type's range stand for
infinity, as in masks: they do not count for the scale, and equal one another.
"""

from __future__ import annotations

import torch

Tolerance = tuple[float, float]  # relative, absolute

# Other kernels add in another order; half precision keeps 8 to 11 bits; rounding of activations to
# 8 bits may fall to the other side, a step of the quantizer.
_SINGLE = (1e-4, 2e-5)
_HALF = (2e-2, 2e-3)
_QUANTIZED = (2e-2, 2e-2)


def tolerances(dtypes: set[str], quantization: str | None) -> Tolerance:
    """The relative and the absolute tolerance.

    Parameters
    ----------
    dtypes
        Of all inputs, outputs and state, as the manifest names them.
    """
    if quantization is not None:
        return _QUANTIZED
    return _HALF if dtypes & {"float16", "bfloat16"} else _SINGLE


def first_deviation(
    found: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance
) -> str | None:
    """The first element that is off by more than the tolerance, in words."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return (
            f"it is {found.dtype} {list(found.shape)}, not {expected.dtype} {list(expected.shape)}"
        )
    if torch.equal(found, expected):
        return None
    absolute = tolerance[1] if found.dtype.is_floating_point else 0.0
    if absolute > 0 and float((found - expected).abs().max()) <= absolute:
        return None  # most often, and much cheaper for large states than the scale below
    off = deviating(found, expected, tolerance)
    if not bool(off.any()):
        return None
    place = tuple(off.nonzero()[0].tolist())
    return f"{list(place)} is {_number(found[place])}, expected {_number(expected[place])}"


def deviating(found: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Which elements of two tensors of one form are off by more than the tolerance."""
    if not found.dtype.is_floating_point:
        return found != expected
    relative, absolute = tolerance
    close = torch.isclose(found, expected, relative, absolute * _scale(expected), equal_nan=True)
    infinite = _stands_for_infinity(found) & _stands_for_infinity(expected)
    return ~(close | (infinite & (found.sign() == expected.sign())))


def _stands_for_infinity(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.abs() > torch.finfo(tensor.dtype).max / 2


def _scale(tensor: torch.Tensor) -> float:
    if not tensor.dtype.is_floating_point:
        return 1.0
    if tensor.numel() == 0:
        return 1.0
    largest = max(abs(float(end)) for end in torch.aminmax(tensor))
    if not largest <= torch.finfo(tensor.dtype).max / 2:  # or NaN
        counted = tensor.abs().masked_fill(_stands_for_infinity(tensor), 0)
        largest = float(counted.max())
    return max(1.0, largest)


def _number(element: torch.Tensor) -> str:
    value = element.item()
    return f"{value:.8g}" if isinstance(value, float) else str(value).lower()
