"""The type in which a decomposition computes."""

from __future__ import annotations

from torch import Tensor


def in_single(x: Tensor) -> Tensor:
    """Return floats of 16 bits as float32, and anything else as it is."""
    return x.float() if x.is_floating_point() and x.dtype.itemsize == 2 else x
