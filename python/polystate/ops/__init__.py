"""Operators of polystate's own; importing this package registers them as ``torch.ops.polystate``.

The forms here say what the operators mean: the exporter traces them, and tests compare the
runtime's kernels with them.
"""

from polystate.ops import (
    attention,
    checks,
    fourier,
    groupwise,
    in_place,
    norms,
    order,
    packed,
    quantized,
    recurrent,
)

__all__ = [
    "attention",
    "checks",
    "fourier",
    "groupwise",
    "in_place",
    "norms",
    "order",
    "packed",
    "quantized",
    "recurrent",
]
