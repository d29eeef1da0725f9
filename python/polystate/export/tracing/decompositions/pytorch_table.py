"""Corrections of the decompositions that torch.export itself has.

They are for sizes that vary: its ``meshgrid`` lacks the default of an argument, and its resampling
divides by one less than a size that may be 1.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._decomp import decomposition_table
from torch._decomp import decompositions as resampling

aten = torch.ops.aten


@contextlib.contextmanager
def corrected() -> Iterator[None]:
    """Correct PyTorch's table within the block."""
    default = aten.meshgrid.default
    meshgrid = functools.partial(decomposition_table[default], indexing="ij")
    scale = _scale_of_any_size(resampling._compute_scale)
    with (
        mock.patch.dict(decomposition_table, {default: meshgrid}),
        mock.patch.object(resampling, "_compute_scale", scale),
    ):
        yield


def _scale_of_any_size(scale_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return the distance between results of resampling, also where there may be just one."""

    def scale(size: Any, results: Any, align_corners: bool, scale: float | None = None) -> Any:
        if not align_corners or not isinstance(results, torch.SymInt):
            return scale_of(size, results, align_corners, scale)
        larger: Any = torch.sym_max
        return (size - 1.0) / larger(results - 1, 1)

    return scale
