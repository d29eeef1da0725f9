"""Searches in sorted boundaries and among given values, and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _searchsorted(boundaries: Tensor, values: Tensor, **options: Any) -> Any:
    """Converts boundaries and values to one type: the kernel takes no others."""
    dtype = torch.result_type(boundaries, values)
    if boundaries.dtype == values.dtype:
        return NotImplemented
    return aten.searchsorted.Tensor(boundaries.to(dtype), values.to(dtype), **options)


def _searchsorted_number(boundaries: Tensor, value: Any, **options: Any) -> Any:
    dtype = torch.result_type(boundaries, value)
    number = torch.full((), value, dtype=dtype)
    return aten.searchsorted.Tensor(boundaries.to(dtype), number, **options)


def _bucketize(values: Tensor, boundaries: Tensor, **options: Any) -> Any:
    dtype = torch.result_type(values, boundaries)
    if boundaries.dtype == values.dtype:
        return NotImplemented
    return aten.bucketize.Tensor(values.to(dtype), boundaries.to(dtype), **options)


def _bucketize_number(value: Any, boundaries: Tensor, **options: Any) -> Any:
    return _searchsorted_number(boundaries, value, **options)


def _isin(x: Tensor, among: Tensor, **options: Any) -> Any:
    dtype = torch.result_type(x, among)
    if x.dtype == among.dtype:
        return NotImplemented
    return aten.isin.Tensor_Tensor(x.to(dtype), among.to(dtype), **options)


def _isin_of_number(x: Tensor, number: Any, invert: bool = False, **_: Any) -> Any:
    return x != number if invert else x == number


def _number_isin(number: Any, among: Tensor, invert: bool = False, **_: Any) -> Any:
    found = (among == number).any()
    return found.logical_not() if invert else found


def _histogramdd_bin_edges(
    x: Tensor, bins: Sequence[int], *, range: Sequence[float] | None = None, **_: Any
) -> list[Tensor]:
    columns = x.reshape(-1, x.shape[-1])
    if range is None and columns.shape[0] == 0:
        range = [0.0, 1.0] * len(bins)
    return [
        _edges_of_values(columns[:, i], count)
        if range is None
        else _edges(range[2 * i], range[2 * i + 1], count, x.dtype)
        for i, count in enumerate(bins)
    ]


def _histogramdd(
    x: Tensor,
    bins: int | Sequence[int],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    if isinstance(bins, int):
        bins = [bins] * x.shape[-1]
    edges = _histogramdd_bin_edges(x, bins, range=range)
    counts = aten._histogramdd_from_bin_cts.default(
        x, bins, range=range, weight=weight, density=density
    )
    return counts, edges


def _histogramdd_of_edges(
    x: Tensor,
    bins: Sequence[Tensor],
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    counts = aten._histogramdd_from_bin_tensors.default(x, bins, weight=weight, density=density)
    return counts, [each.clone() for each in bins]


def _edges(low: float, high: float, bins: int, dtype: torch.dtype) -> Tensor:
    around = 0.5 if low == high else 0.0
    return torch.linspace(low - around, high + around, bins + 1, dtype=dtype)


def _edges_of_values(values: Tensor, bins: int) -> Tensor:
    low, high = values.amin(), values.amax()
    around = torch.where(low == high, 0.5, 0.0).to(values.dtype)
    low, high = low - around, high + around
    step = (high - low) / bins
    places = torch.arange(bins + 1, dtype=values.dtype)
    from_low, from_high = low + step * places, high - step * (bins - places)
    return torch.where(places < (bins + 1) // 2, from_low, from_high)


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._histogramdd_bin_edges.default: _histogramdd_bin_edges,
    aten.bucketize.Scalar: _bucketize_number,
    aten.bucketize.Tensor: _bucketize,
    aten.histogramdd.TensorList_bins: _histogramdd_of_edges,
    aten.histogramdd.default: _histogramdd,
    aten.histogramdd.int_bins: _histogramdd,
    aten.isin.Scalar_Tensor: _number_isin,
    aten.isin.Tensor_Scalar: _isin_of_number,
    aten.isin.Tensor_Tensor: _isin,
    aten.searchsorted.Scalar: _searchsorted_number,
    aten.searchsorted.Tensor: _searchsorted,
}
