"""Histograms of several dimensions for AOTInductor, which cannot call PyTorch's kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# PyTorch declares no types for it.
_check: Any = torch._check


def of_edges(
    x: Tensor, edges: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """Counts points in boxes between edges, or sums their weights; the last edges are inside.

    Floats of 16 bits are left: PyTorch's sums of them end where one more is rounded away.

    Parameters
    ----------
    x
        ``[..., dimensions]``.
    edges
        Rising numbers for each dimension, one more than it has boxes.
    weight
        ``[...]``, one for each point.
    density
        Whether the result is divided by the sum of all and by the volume of each box.

    Returns
    -------
    Tensor
        The counts, ``[boxes of the first dimension, of the second, ...]``.
    """
    if x.dtype.itemsize == 2:
        return NotImplemented  # type: ignore[no-any-return]
    points = x.reshape(-1, len(edges))
    weights = points.new_ones(points.shape[0]) if weight is None else weight.reshape(-1)
    sizes = [each.shape[0] - 1 for each in edges]
    box = torch.zeros_like(weights, dtype=torch.int64)
    is_inside = torch.ones_like(weights, dtype=torch.bool)
    for i, (bounds, size) in enumerate(zip(edges, sizes, strict=True)):
        _check(size > 0, lambda: "histogramdd: a dimension has fewer than two edges")
        column = points[:, i].contiguous()
        place = torch.searchsorted(bounds, column, right=True) - 1
        is_inside = is_inside & (column >= bounds[0]) & (column <= bounds[-1])
        box = box * size + place.clamp(0, size - 1)
    counted = torch.where(is_inside, weights, 0.0)
    counts = points.new_zeros(math.prod(sizes)).scatter_add(0, box, counted).view(sizes)
    if density:
        counts = counts / counts.sum()
        for i, bounds in enumerate(edges):
            counts = counts / bounds.diff().view([-1] + [1] * (len(edges) - i - 1))
    return counts
