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
from polystate.recipes.paged.caches import KeyValueSink, PagedCaches, Pools
from polystate.recipes.paged.layers import AttentionLayer, LayerAttention, LayerFinder
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
        self.self_caches = PagedCaches(
            list(shapes.values()), capacity.tried_pages, capacity.page_size, capacity.dtype
        )

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        rows: torch.Tensor,
        page_table: torch.Tensor,
        wanted: torch.Tensor,
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

        Returns
        -------
        torch.Tensor
            [m, vocabulary]: logits of the tokens that follow the wanted ones.
        """
        caches = KeyValueSink()
        step = Step(positions, rows, page_table)
        own = LayerAttention(step, caches, self._layers_with_pools())
        return self.wanted_logits(
            wanted, lambda: self._logits(input_ids[None], positions[None], caches, own)
        )

    def read_sources(self, sources: Sequence[torch.Tensor], capacity: Capacity) -> dict[str, Any]:
        """There are none."""
        del sources, capacity
        return {}

    def _layers_with_pools(self) -> list[tuple[AttentionLayer, Pools]]:
        pools = self.self_caches.pools()
        return [(each, pools[self._pool_numbers[each.cache_layer]]) for each in self.layers]

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
