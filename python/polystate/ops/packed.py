"""Products with packed float32 weights, and rows of a table of them.

Weights ``[columns, depth]`` are stored as the kernels read them::

    tiles   float32 [ceil(columns / 16), depth, 16]; float64 for `recurrent.py` alone

A tile has, for every step of depth, the values of its 16 columns one after another; missing columns
are 0.

A product is ``activation(x @ weights + bias) + addend``: activations are ``"none"``, ``"relu"`` and
``"silu"``, the bias float32 [columns], the addend float32 of the result's shape.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from polystate.ops.library import define_with_out
from polystate.ops.unpacked import unpacked

COLUMNS_OF_A_TILE = 16

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
}


def pack_floats(weight: Tensor) -> Tensor:
    """The tiles of weights [columns, depth], of any type."""
    columns, depth = weight.shape
    padded = torch.nn.functional.pad(weight, (0, 0, 0, -columns % COLUMNS_OF_A_TILE))
    return padded.reshape(-1, COLUMNS_OF_A_TILE, depth).transpose(1, 2).contiguous()


def unpack_floats(tiles: Tensor, columns: int) -> Tensor:
    """The weights [columns, depth] of tiles."""
    return tiles.transpose(1, 2).flatten(0, 1)[:columns]


def check_what_follows(x: Tensor, columns: int, addend: Tensor | None, activation: str) -> None:
    """Refuses what the kernels do: they broadcast no addend."""
    if activation not in _ACTIVATIONS:
        raise ValueError(f"the activation is {activation!r}; it may be {', '.join(_ACTIVATIONS)}")
    shape = (*x.shape[:-1], columns)
    if addend is not None and (addend.shape != shape or addend.dtype != torch.float32):
        raise ValueError(
            f"addend is {addend.dtype} {list(addend.shape)}; it must be float32 {list(shape)}"
        )


def finished(product: Tensor, addend: Tensor | None, activation: str) -> Tensor:
    """A product with its bias as the operator returns it."""
    result = _ACTIVATIONS[activation](product)
    return result if addend is None else result + addend


def _linear(
    x: Tensor,
    tiles: Tensor,
    columns: int,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, columns, addend, activation)
    weight = unpacked(tiles, columns, lambda: unpack_floats(tiles, columns))
    product = torch.nn.functional.linear(x, weight, bias)
    return finished(product, addend, activation)


def _fake_linear(
    x: Tensor,
    tiles: Tensor,
    columns: int,
    bias: Tensor | None,
    addend: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    check_what_follows(x, columns, addend, activation)
    return x.new_empty((*x.shape[:-1], columns))


def _embedding(ids: Tensor, tiles: Tensor, columns: int) -> Tensor:
    if ids.numel() > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < columns:
        raise IndexError(f"ids are not between 0 and {columns - 1}")
    return tiles[ids // COLUMNS_OF_A_TILE, :, ids % COLUMNS_OF_A_TILE]


def _fake_embedding(ids: Tensor, tiles: Tensor, columns: int) -> Tensor:
    return tiles.new_empty((*ids.shape, tiles.shape[1]))


define_with_out(
    "packed_linear",
    'Tensor x, Tensor tiles, int columns, Tensor? bias, Tensor? addend=None, str activation="none"',
    _linear,
    _fake_linear,
)
define_with_out(
    "packed_embedding", "Tensor ids, Tensor tiles, int columns", _embedding, _fake_embedding
)
