"""Products with int8 weights whose groups have scales of their own, and rows of a table of them.

Weights ``[columns, depth]`` are stored as the kernels read them, the depth filled up with 0 to
whole groups of 32 steps::

    tiles   int8 [ceil(columns / 16), groups * 8, 16, 4]
    scales  float16 [ceil(columns / 16), groups, 16]: what a value of a group stands for

A tile has, for every 4 steps of depth, the 4 values of its 16 columns one after another; missing
columns are 0. No value is -128.

Groups of activations have scales of their own, too, found at each call. A product is
``activation(x @ weights + bias) + addend`` as those of :mod:`polystate.ops.packed`.

Source: the blocks of llama.cpp's Q8_0, which are those of ONNX Runtime's MatMulNBits with 8 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from polystate.errors import UnsupportedError
from polystate.ops.library import define_with_out
from polystate.ops.packed import COLUMNS_OF_A_TILE, check_what_follows, finished
from polystate.ops.quantized import unpack
from polystate.ops.unpacked import unpacked

GROUP = 32

_DEPTH = 4
_SMALLEST_MAGNITUDE = 1e-36  # of a group of activations, below which 127 / it has no float32
_LARGEST_SCALE = torch.finfo(torch.float16).max
_PACKED_AT_ONCE = 256 * COLUMNS_OF_A_TILE
_TILES_AT_ONCE = 64  # are unpacked, since a whole vocabulary's weights take as much as a model


class GroupwiseWeights(NamedTuple):
    """Weights [columns, depth] in 8 bits, symmetric, a scale for each 32 values of a column."""

    tiles: Tensor
    scales: Tensor


def pack(weight: Tensor) -> GroupwiseWeights:
    """Rounds weights [columns, depth] to 8 bits: the largest of a group becomes 126 or 127.

    They are converted to float32 some columns after others, which takes little memory.

    Raises
    ------
    UnsupportedError
        When a weight is so large that its group's scale has no float16.
    """
    parts = [_pack_columns(columns.float()) for columns in torch.split(weight, _PACKED_AT_ONCE)]
    return GroupwiseWeights(*(torch.cat(of_parts) for of_parts in zip(*parts, strict=True)))


def _pack_columns(weight: Tensor) -> GroupwiseWeights:
    columns, depth = weight.shape
    padded = torch.nn.functional.pad(weight, (0, -depth % GROUP, 0, -columns % COLUMNS_OF_A_TILE))
    groups = padded.reshape(len(padded), -1, GROUP)
    scales = _scales(groups.abs().amax(2))
    values = torch.round(groups / scales.float()[..., None]).clamp(-127, 127).to(torch.int8)
    tiles = values.reshape(-1, COLUMNS_OF_A_TILE, padded.shape[1] // _DEPTH, _DEPTH)
    of_tiles = scales.reshape(-1, COLUMNS_OF_A_TILE, scales.shape[1])
    return GroupwiseWeights(
        tiles.transpose(1, 2).contiguous(), of_tiles.transpose(1, 2).contiguous()
    )


def _scales(largest: Tensor) -> Tensor:
    """The least float16 numbers of which 127 are the largest magnitudes of groups or more."""
    wanted = torch.where(largest > 0, largest / 127, 1.0)
    if bool((wanted > _LARGEST_SCALE).any()):
        raise UnsupportedError(
            f"quantization 'q8_0': a weight is {float(largest.max()):.4g}; it may be "
            f"{127 * _LARGEST_SCALE:.4g} at the most"
        )
    scales = wanted.half()
    next_ones = (scales.view(torch.int16) + 1).view(torch.float16)
    return torch.where(scales.float() < wanted, next_ones, scales)


def _quantized_and_back(x: Tensor) -> Tensor:
    """What 8 bits leave of rows [..., depth]."""
    groups = _groups(x)
    largest = groups.abs().amax(-1, keepdim=True)
    inverse = torch.where(
        largest > _SMALLEST_MAGNITUDE, torch.full_like(largest, 127).div(largest), 0.0
    )
    values = torch.round(groups * inverse) * (largest / 127)
    return values.flatten(-2)[..., : x.shape[-1]]


def steps(x: Tensor) -> Tensor:
    """How far apart the numbers are to which each value of rows [..., depth] is rounded."""
    groups = _groups(x)
    step = groups.abs().amax(-1, keepdim=True) / 127
    return step.expand_as(groups).flatten(-2)[..., : x.shape[-1]]


def _groups(x: Tensor) -> Tensor:
    """Rows [..., depth] as groups [..., groups, 32], filled up with 0."""
    return _divided(torch.nn.functional.pad(x, (0, -x.shape[-1] % GROUP)))


def _divided(rows: Tensor) -> Tensor:
    """Rows of whole groups as these, [..., groups, 32]."""
    return rows.reshape(*rows.shape[:-1], rows.shape[-1] // GROUP, GROUP)


def unpack_groups(tiles: Tensor, scales: Tensor, columns: int, depth: int) -> Tensor:
    """The weights [columns, depth] of tiles, in float32."""
    weight = unpack(tiles, columns, tiles.shape[1] * _DEPTH).float()
    of_columns = scales.transpose(1, 2).flatten(0, 1)[:columns].float()
    return (_divided(weight) * of_columns[..., None]).flatten(1)[:, :depth]


def _linear(
    x: Tensor,
    tiles: Tensor,
    scales: Tensor,
    columns: int,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, columns, addend, activation)
    result = _products(_quantized_and_back(x), tiles, scales, columns)
    if bias is not None:
        result += bias
    return finished(result, addend, activation)


def _products(x: Tensor, tiles: Tensor, scales: Tensor, columns: int) -> Tensor:
    """The products [..., columns] of rows [..., depth] with the weights of tiles."""
    depth = x.shape[-1]
    products = x.new_empty((*x.shape[:-1], columns))
    for first in range(0, len(tiles), _TILES_AT_ONCE):
        some = slice(first, first + _TILES_AT_ONCE)
        begin = first * COLUMNS_OF_A_TILE
        count = min(columns - begin, _TILES_AT_ONCE * COLUMNS_OF_A_TILE)

        def unpack_some(some: slice = some, count: int = count) -> Tensor:
            return unpack_groups(tiles[some], scales[some], count, depth)

        products[..., begin : begin + count] = x @ unpacked(tiles[some], count, unpack_some).T
    return products


def _fake_linear(
    x: Tensor,
    tiles: Tensor,
    scales: Tensor,
    columns: int,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, columns, addend, activation)
    return x.new_empty((*x.shape[:-1], columns))


def _embedding(ids: Tensor, tiles: Tensor, scales: Tensor, columns: int, depth: int) -> Tensor:
    tile, column = ids // COLUMNS_OF_A_TILE, ids % COLUMNS_OF_A_TILE
    values = _divided(tiles[tile, :, column].flatten(-2))
    rows = values.float() * scales[tile, :, column].float()[..., None]
    return rows.flatten(-2)[..., :depth]


def _fake_embedding(ids: Tensor, tiles: Tensor, scales: Tensor, columns: int, depth: int) -> Tensor:
    return scales.new_empty((*ids.shape, depth), dtype=torch.float32)


define_with_out(
    "groupwise_linear",
    "Tensor x, Tensor tiles, Tensor scales, int columns, Tensor? bias, Tensor? addend=None, "
    'str activation="none"',
    _linear,
    _fake_linear,
)
define_with_out(
    "groupwise_embedding",
    "Tensor ids, Tensor tiles, Tensor scales, int columns, int depth",
    _embedding,
    _fake_embedding,
)
