"""Histograms of several dimensions for AOTInductor, of whose kernel there is no C form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def of_edges(
    x: Tensor, edges: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """Counts points in boxes between edges, or sums their weights; the last edges are inside.

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
        So many boxes in each dimension.
    """
    points = x.reshape(-1, len(edges))
    weights = points.new_ones(points.shape[0]) if weight is None else weight.reshape(-1)
    sizes = [each.shape[0] - 1 for each in edges]
    box = torch.zeros_like(weights, dtype=torch.int64)
    is_inside = torch.ones_like(weights, dtype=torch.bool)
    for i, (bounds, size) in enumerate(zip(edges, sizes, strict=True)):
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
