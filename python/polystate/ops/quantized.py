"""Products with int8 weights, and rows of a table of them.

Weights ``[columns, depth]`` are stored as the kernels read them::

    tiles   int8 [ceil(columns / 16), ceil(depth / 4), 16, 4]
    scales  float32 [columns]: what a value of a column stands for
    sums    int32 [columns]: of a column's values

A tile has, for every 4 steps of depth, the 4 values of its 16 columns one after another; missing
columns and steps are 0. No value is -128.

A product is ``activation(x @ weights + bias) + addend`` as those of :mod:`polystate.ops.packed`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from polystate.ops.library import define_with_out
from polystate.ops.packed import COLUMNS_OF_A_TILE, check_what_follows, finished
from polystate.ops.unpacked import unpacked

_DEPTH = 4
_SMALLEST_SPAN = 1e-36  # of a row, below which 255 / span has no float32
_PACKED_AT_ONCE = 256 * COLUMNS_OF_A_TILE
_TILES_AT_ONCE = 64  # are unpacked, since a whole vocabulary's weights take as much as a model
_EXACT = 512  # so many products of 8 bits have a sum that float32 holds exactly


class PackedWeights(NamedTuple):
    """Weights [columns, depth] in 8 bits, symmetric, one scale per column."""

    tiles: Tensor
    scales: Tensor
    sums: Tensor


def pack(weight: Tensor) -> PackedWeights:
    """Rounds weights [columns, depth] to 8 bits: the largest of a column becomes 127.

    They are converted to float32 some columns after others, which takes little memory.

    Source: the symmetric scheme of per-channel weights of torchao and XNNPACK.
    """
    parts = [_pack_columns(columns.float()) for columns in torch.split(weight, _PACKED_AT_ONCE)]
    return PackedWeights(*(torch.cat(of_parts) for of_parts in zip(*parts, strict=True)))


def _pack_columns(weight: Tensor) -> PackedWeights:
    largest = weight.abs().amax(1)
    scales = torch.where(largest > 0, largest / 127, 1.0)
    values = torch.round(weight / scales[:, None]).clamp(-127, 127).to(torch.int8)
    columns, depth = weight.shape
    padded = torch.nn.functional.pad(values, (0, -depth % _DEPTH, 0, -columns % COLUMNS_OF_A_TILE))
    tiles = padded.reshape(-1, COLUMNS_OF_A_TILE, padded.shape[1] // _DEPTH, _DEPTH).transpose(1, 2)
    return PackedWeights(tiles.contiguous(), scales, values.sum(1, dtype=torch.int32))


def unpack(tiles: Tensor, columns: int, depth: int) -> Tensor:
    """The values [columns, depth] of tiles."""
    return tiles.transpose(1, 2).flatten(2).flatten(0, 1)[:columns, :depth]


def _quantize_rows(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in 8 bits, from their smallest to their largest value and 0; their scales and zeros."""
    low, high = x.amin(-1, keepdim=True).clamp(max=0), x.amax(-1, keepdim=True).clamp(min=0)
    span = high - low
    inverse = torch.where(span > _SMALLEST_SPAN, torch.full_like(span, 255).div(span), 0.0)
    zero = torch.round(-low * inverse)
    values = (torch.round(x * inverse) + zero).clamp(0, 255)
    return values, span / 255, zero


def steps(x: Tensor) -> Tensor:
    """How far apart the numbers are to which the values of each row are rounded."""
    return _quantize_rows(x)[1]


def _linear(
    x: Tensor,
    tiles: Tensor,
    scales: Tensor,
    sums: Tensor,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, scales.shape[0], addend, activation)
    values, scale, zero = _quantize_rows(x)
    products = _products(values - zero, tiles, scales.shape[0])
    products *= (scale * scales).double()
    if bias is not None:
        products += bias.double()
    result = products.float()
    finite = torch.isfinite(scale)
    if not bool(finite.all()):
        result = torch.where(finite, result, torch.nan)
    return finished(result, addend, activation)


def _floats(tiles: Tensor, columns: int, depth: int) -> Tensor:
    return unpack(tiles, columns, depth).float()


def _products(values: Tensor, tiles: Tensor, columns: int) -> Tensor:
    """The products [..., columns] of whole numbers [..., depth] with those of tiles, in float64."""
    depth = values.shape[-1]
    products = values.new_empty((*values.shape[:-1], columns), dtype=torch.float64)
    for first in range(0, len(tiles), _TILES_AT_ONCE):
        some = tiles[first : first + _TILES_AT_ONCE]
        begin = first * COLUMNS_OF_A_TILE
        count = min(columns - begin, len(some) * COLUMNS_OF_A_TILE)
        weight = unpacked(some, count, functools.partial(_floats, some, count, depth))
        found = products[..., begin : begin + len(weight)]
        found.copy_(values[..., :_EXACT] @ weight[:, :_EXACT].T)
        for step in range(_EXACT, depth, _EXACT):
            exact = slice(step, step + _EXACT)
            found += values[..., exact] @ weight[:, exact].T
    return products


def _fake_linear(
    x: Tensor,
    tiles: Tensor,
    scales: Tensor,
    sums: Tensor,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, scales.shape[0], addend, activation)
    return x.new_empty((*x.shape[:-1], scales.shape[0]))


def _embedding(ids: Tensor, tiles: Tensor, scales: Tensor, depth: int) -> Tensor:
    chosen = tiles[ids // COLUMNS_OF_A_TILE, :, ids % COLUMNS_OF_A_TILE].flatten(-2)[..., :depth]
    return chosen.float() * scales[ids][..., None]


def _fake_embedding(ids: Tensor, tiles: Tensor, scales: Tensor, depth: int) -> Tensor:
    return scales.new_empty((*ids.shape, depth))


define_with_out(
    "quantized_linear",
    "Tensor x, Tensor tiles, Tensor scales, Tensor sums, Tensor? bias, Tensor? addend=None, "
    'str activation="none"',
    _linear,
    _fake_linear,
)
define_with_out(
    "quantized_embedding",
    "Tensor ids, Tensor tiles, Tensor scales, int depth",
    _embedding,
    _fake_embedding,
)
