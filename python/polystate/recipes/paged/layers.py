"""Computations of attention in a step of a model without an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import LinearAttentionCacheLayerMixin

from polystate.errors import ExportError, UnsupportedError
from polystate.recipes.paged.attention import Attention, AttentionCall, Step
from polystate.recipes.paged.caches import KeyValueSink, LayerShape, Pools
from polystate.recipes.paged.masks import Masks


@dataclass(frozen=True)
class AttentionLayer:
    """One computation of attention, of those that follow each other in a step.

    Attributes
    ----------
    cache_layer
        The layer of the model's cache whose keys and values it reads.
    makes_keys
        Whether it comes with keys and values of its own, or reads those of an earlier one.
    shape
        Of the keys and values.
    window
        The last positions that a token sees; 0: all.
    """

    cache_layer: int
    makes_keys: bool
    shape: LayerShape
    window: int

    @property
    def kind(self) -> tuple[bool, LayerShape, int]:
        """All but whose keys and values it reads."""
        return self.makes_keys, self.shape, self.window


def check_caches(model: PreTrainedModel) -> None:
    """Refuses a model that keeps anything else than keys and values.

    Raises
    ------
    UnsupportedError
        When its own caches have other states, or it has none of transformers' caches.
    ExportError
        When it cannot be called.
    """
    try:
        with torch.no_grad():
            output: Any = model(input_ids=torch.arange(3)[None], use_cache=True)
    except Exception as error:  # model code may raise anything
        raise ExportError(
            f"{type(model).__name__} fails for three tokens with use_cache=True: {error}"
        ) from error
    found = [output.get(name) for name in ("past_key_values", "cache_params")]
    caches = [cache for cache in found if isinstance(cache, Cache)]
    kept = [layer for cache in caches for layer in cache.layers]
    others = [layer for layer in kept if isinstance(layer, LinearAttentionCacheLayerMixin)]
    if others or not kept:
        what = f"{type(others[0]).__name__}s" if others else "nothing in a Cache"
        raise UnsupportedError(
            f"{type(model).__name__} keeps {what} between its tokens; only models are exported "
            f"whose state is the keys and values of attention"
        )


class LayerFinder(Attention):
    """Finds the layers of a model: attends to nothing, and notes what it is called with.

    Attributes
    ----------
    found
        In the order of the calls.
    """

    def __init__(self, caches: KeyValueSink, masks: Masks) -> None:
        self._caches = caches
        self._masks = masks
        self.found: list[AttentionLayer] = []

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Notes the call."""
        if call.bias is not None:
            raise UnsupportedError("the model adds a bias to its scores, which has no cache")
        taken = self._caches.take_last()
        shape = LayerShape(
            (call.key.shape[1], call.key.shape[3]), (call.value.shape[1], call.value.shape[3])
        )
        layer = self._layer_of(call.key) if taken is None else taken
        self.found.append(AttentionLayer(layer, taken is not None, shape, self._window_of(call)))
        return call.value.new_zeros(
            call.query.shape[0], call.query.shape[2], call.query.shape[1], call.value.shape[3]
        )

    def _layer_of(self, key: torch.Tensor) -> int:
        """Of keys that were taken before."""
        for layer, (taken, _) in self._caches.taken.items():
            if key is taken:
                return layer
        raise UnsupportedError(
            "the model computes attention over keys that it gave to no layer of its cache"
        )

    def _window_of(self, call: AttentionCall) -> int:
        """By the mask, which is what transformers' own attention obeys."""
        window = self._masks.window_of(call.mask)
        return call.window if window is None else window


@dataclass(frozen=True)
class LayerStep:
    """A layer, its pages, and where the sequences of a step have theirs among them."""

    layer: AttentionLayer
    pools: Pools
    step: Step


class LayerAttention(Attention):
    """Of the tokens of a step, over the pages of each layer in turn."""

    def __init__(self, caches: KeyValueSink, layers: Sequence[LayerStep]) -> None:
        self._caches = caches
        self._layers = iter(layers)

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Computes the next layer's."""
        of_layer = next(self._layers)
        layer = of_layer.layer
        key, value = call.key, call.value
        if not layer.makes_keys:
            key, value = self._caches.taken[layer.cache_layer]
        call = replace(call, window=layer.window)
        return of_layer.step.write_and_attend(call, key, value, of_layer.pools)
