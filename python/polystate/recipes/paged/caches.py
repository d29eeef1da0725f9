"""Pools of pages, and what stands for them as the caches of transformers' models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache


@dataclass(frozen=True)
class Pools:
    """The pages of one layer's keys and values.

    Attributes
    ----------
    keys
        [pages, heads, head size, page]
    values
        [pages, heads, page, head size]
    """

    keys: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True)
class LayerShape:
    """Heads and head size of a layer's keys, and of its values."""

    keys: tuple[int, int]
    values: tuple[int, int]


class PagedCaches(torch.nn.Module):
    """The pools of all layers, as buffers.

    Parameters
    ----------
    shapes
        Of each layer.
    pages
        Of each layer's pools.
    page_size
        Positions of a page.
    dtype
        Of keys and values: float32 or float16.
    """

    def __init__(
        self,
        shapes: Sequence[LayerShape],
        pages: Sequence[int],
        page_size: int,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        self._layers = len(shapes)
        self.page_size = page_size
        for layer, (shape, count) in enumerate(zip(shapes, pages, strict=True)):
            heads, size = shape.values
            keys = torch.zeros(count, *shape.keys, page_size, dtype=dtype)
            values = torch.zeros(count, heads, page_size, size, dtype=dtype)
            self.register_buffer(f"keys_{layer}", keys)
            self.register_buffer(f"values_{layer}", values)

    def pools(self) -> list[Pools]:
        """The pages of each layer."""
        return [
            Pools(self.get_buffer(f"keys_{layer}"), self.get_buffer(f"values_{layer}"))
            for layer in range(self._layers)
        ]

    def named_pools(self, layers: Sequence[int]) -> list[tuple[str, torch.Tensor]]:
        """The buffers of some layers, by their names."""
        names = [name for layer in layers for name in (f"keys_{layer}", f"values_{layer}")]
        return [(name, self.get_buffer(name)) for name in names]

    def copy_pages(self, source: torch.Tensor, target: torch.Tensor, layers: Sequence[int]) -> None:
        """Makes pages copies of others, in some layers.

        Parameters
        ----------
        source, target
            [pages]: page ``target[i]`` becomes a copy of page ``source[i]``.
        """
        pools = self.pools()
        for layer in layers:
            keys, values = pools[layer].keys, pools[layer].values
            torch.ops.polystate.copy_pages(keys, values, source, target)

    def clear(self) -> None:
        """Fills all pages with zeros."""
        for buffer in self.buffers():
            buffer.zero_()


class KeyValueSink(Cache):
    """Takes the keys and values that a model makes, layer by layer, and keeps nothing else.

    Attributes
    ----------
    taken
        The keys and values [batch, heads, tokens, head size] of each layer.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.taken: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._last: int | None = None

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes [batch, heads, tokens, head size], and returns them as they are."""
        self.taken[layer_idx] = (key_states, value_states)
        self._last = layer_idx
        return key_states, value_states

    def take_last(self) -> int | None:
        """The layer whose keys and values came last; None where none came since it was asked."""
        last, self._last = self._last, None
        return last

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Nothing was there before."""
        return 0


class EarlierSteps(KeyValueSink):
    """Stands for the keys and values of earlier steps, which lie in pages.

    Parameters
    ----------
    seen
        What ``get_seq_length`` answers: the tokens' positions, in the shape that makes the model's
        own arithmetic with them come out by tokens.
    length
        Positions that keys seem to have.
    """

    def __init__(self, seen: torch.Tensor, length: int) -> None:
        super().__init__()
        self._seen = seen
        self._length = length
        self.seeming: dict[int, torch.Tensor] = {}

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *_: Any,
        **__: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes the step's own; what it returns has the shape of all, and values nobody reads."""
        super().update(key_states, value_states, layer_idx)
        batch, heads, _tokens, size = key_states.shape
        self.seeming[layer_idx] = key_states[:, :, :1].expand(batch, heads, self._length, size)
        return self.seeming[layer_idx], value_states

    def get_seq_length(self, layer_idx: int = 0) -> Any:
        """The tokens' positions."""
        return self._seen


class EncodedText(Cache):
    """Stands for the keys and values of the encoder's output, which lie in pages.

    Its layers have keys of the right shape, whose values nobody reads.
    """

    @dataclass
    class _Layer:
        keys: torch.Tensor
        values: torch.Tensor

    def __init__(self, pools: Sequence[Pools], batch: int, length: int) -> None:
        self.seeming = [
            each.keys[:1, :, :, :1].float().transpose(2, 3).expand(batch, -1, length, -1)
            for each in pools
        ]
        super().__init__(layers=[self._Layer(keys, keys) for keys in self.seeming])  # type: ignore[misc]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Something is there."""
        return 1
