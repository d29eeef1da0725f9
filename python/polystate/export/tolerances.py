"""How far a run may be from the recorded calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polystate.artifact import GoldenCall

# Relative, and absolute as a part of the largest value (of one, where all are smaller). Other
# kernels add in another order; half precision keeps 8 to 11 bits; rounding of activations to 8 bits
# may fall to the other side, a step of the quantizer.
_SINGLE = (1e-4, 2e-5)
_HALF = (2e-2, 2e-3)
_QUANTIZED = (2e-2, 2e-2)


def golden_tolerances(
    calls: Sequence[tuple[str, GoldenCall]], dtypes: set[str], quantization: str | None
) -> tuple[float, float]:
    """The relative and absolute tolerance for recorded calls.

    Parameters
    ----------
    dtypes
        Of all inputs, outputs and state, as the manifest names them.
    """
    relative, absolute = _HALF if dtypes & {"float16", "bfloat16"} else _SINGLE
    if quantization is not None:
        relative, absolute = _QUANTIZED
    return relative, absolute * max(1.0, _largest(calls))


def _largest(calls: Sequence[tuple[str, GoldenCall]]) -> float:
    outputs = [a for _, call in calls for a in (*call.outputs, *call.written.values())]
    floats = [a for a in outputs if a.dtype.kind == "f" and a.size]
    return max((float(np.abs(a[np.isfinite(a)]).max(initial=0)) for a in floats), default=0.0)
