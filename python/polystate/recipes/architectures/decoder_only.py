"""A causal language model of transformers as methods over paged caches."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from transformers import PreTrainedModel

from polystate.recipes.architectures.token_model import Form, TokenModel
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.attention import Attention, Step, attention
from polystate.recipes.paged.caches import KeyValueSink, PagedCaches
from polystate.recipes.paged.kinds import cache_kinds
from polystate.recipes.paged.layers import (
    AttentionLayer,
    LayerAttention,
    LayerFinder,
    LayerStep,
)
from polystate.recipes.paged.masks import observed_masks


class DecoderOnly(TokenModel):
    """The methods ``forward`` and ``copy_pages`` over a model and its pools of pages.

    Parameters
    ----------
    model
        In ``eval`` mode, within :func:`own_attention`.
    """

    forms: ClassVar[Sequence[Form]] = [Form(selects_first=True), Form(selects_first=False)]

    def __init__(self, model: PreTrainedModel, capacity: Capacity, form: Form) -> None:
        super().__init__(model, capacity, form)
        self._takes_positions = "position_ids" in inspect.signature(model.forward).parameters
        self.layers = self._found_layers(capacity.max_length)
        shapes = {each.cache_layer: each.shape for each in self.layers if each.makes_keys}
        self._pool_numbers = {layer: number for number, layer in enumerate(shapes)}
        self.kinds = cache_kinds([self._window_of(layer) for layer in shapes], capacity)
        pages = [0] * len(shapes)
        for kind in self.kinds:
            for number in kind.layers:
                pages[number] = kind.tried_pages(capacity)
        self.self_caches = PagedCaches(
            list(shapes.values()), pages, capacity.page_size, capacity.dtype
        )

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        rows: torch.Tensor,
        page_table: torch.Tensor,
        wanted: torch.Tensor,
        window_table: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """One step: some tokens of some sequences, in any order.

        Parameters
        ----------
        input_ids, positions, rows
            [tokens]: what is read, where it stands in its sequence, and which of the sequences
            that is.
        page_table
            [sequences, pages]: where each sequence's keys and values are and go.
        wanted
            [m]: which of the tokens' logits are given.
        window_table
            As ``page_table``, of layers of the second kind; None where there is one kind.

        Returns
        -------
        torch.Tensor
            [m, vocabulary]: logits of the tokens that follow the wanted ones.
        """
        caches = KeyValueSink()
        tables = [page_table] if window_table is None else [page_table, window_table]
        own = LayerAttention(caches, self._layers_with_pools(positions, rows, tables))
        return self.wanted_logits(
            wanted, lambda: self._logits(input_ids[None], positions[None], caches, own)
        )

    def read_sources(self, sources: Sequence[torch.Tensor], capacity: Capacity) -> dict[str, Any]:
        """There are none."""
        del sources, capacity
        return {}

    def _layers_with_pools(
        self, positions: torch.Tensor, rows: torch.Tensor, tables: Sequence[torch.Tensor]
    ) -> list[LayerStep]:
        pools, steps = self.self_caches.pools(), dict[int, Step]()
        for kind, table in zip(self.kinds, tables, strict=True):
            steps |= dict.fromkeys(kind.layers, Step(positions, rows, table))
        numbers = [self._pool_numbers[each.cache_layer] for each in self.layers]
        return [
            LayerStep(each, pools[number], steps[number])
            for each, number in zip(self.layers, numbers, strict=True)
        ]

    def _window_of(self, cache_layer: int) -> int:
        """How far back its keys and values are read; 0: to the beginning."""
        windows = [each.window for each in self.layers if each.cache_layer == cache_layer]
        return 0 if 0 in windows else max(windows)

    def _logits(
        self, ids: torch.Tensor, positions: torch.Tensor, caches: KeyValueSink, own: Attention
    ) -> torch.Tensor:
        """The logits [1, tokens, vocabulary] after the tokens [1, tokens]."""
        given = {"position_ids": positions} if self._takes_positions else {}
        with attention(own):
            output: Any = self.model(input_ids=ids, past_key_values=caches, use_cache=True, **given)
        logits: torch.Tensor = output.logits
        return logits

    def _found_layers(self, length: int) -> list[AttentionLayer]:
        """Found by a step of three tokens, whose masks are evaluated for the longest sequence."""
        caches = KeyValueSink()
        ids = torch.arange(3)[None]
        with torch.no_grad(), observed_masks(length) as masks:
            finder = LayerFinder(caches, masks)
            self._logits(ids, ids, caches, finder)
        return finder.found
