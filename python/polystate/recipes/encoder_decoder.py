"""An encoder-decoder model of transformers as methods over paged caches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from transformers import EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from polystate.recipes.paged_attention import (
    EarlierSteps,
    EncodedText,
    KeyValueSink,
    NoAttention,
    PaddedAttention,
    PagedAttention,
    Pools,
    Rows,
    attention,
)


@dataclass(frozen=True)
class Capacity:
    """How much an artifact takes, and how it keeps it.

    Attributes
    ----------
    max_batch
        Rows of one decoder step: sentences times beams.
    max_source_length, max_length
        Tokens of a source, and of a whole target with its start token.
    page_size
        Positions of a page.
    dtype
        Of keys and values: float32 or float16.
    """

    max_batch: int
    max_source_length: int
    max_length: int
    page_size: int = 16
    dtype: torch.dtype = torch.float32

    @property
    def source_pages(self) -> int:
        """Pages of the longest source."""
        return math.ceil(self.max_source_length / self.page_size)

    @property
    def target_pages(self) -> int:
        """Pages of the longest target."""
        return math.ceil(self.max_length / self.page_size)

    @property
    def pages(self) -> int:
        """Pages of a layer's pools for targets: at least two, so that one can be copied."""
        return max(2, self.max_batch * self.target_pages)

    @property
    def cross_pages(self) -> int:
        """Pages of a layer's pools for sources."""
        return self.max_batch * self.source_pages


def padding_token(model: PreTrainedModel) -> int:
    """The padding token; 0 where the model has none."""
    token: int | None = model.config.get_text_config().pad_token_id
    return 0 if token is None else token


class EncoderDecoder(torch.nn.Module):
    """The methods ``encode``, ``decode`` and ``copy_pages`` over a model and its pools of pages.

    Parameters
    ----------
    model
        In ``eval`` mode, within :func:`own_attention`.
    rows_as_batch
        How the rows of a step are given to the model: as a batch of sequences of one token, or as
        the tokens of one sequence. Which one a model takes depends on how it adds positions to
        embeddings; results are the same.
    skips_padding
        Whether the model's positions in a prompt leave out the padding tokens before them, as
        M2M100's do. ``decode`` is told ``counted`` then.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        capacity: Capacity,
        *,
        rows_as_batch: bool,
        skips_padding: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.skips_padding = skips_padding
        self._rows_as_batch = rows_as_batch
        self._width = model.config.hidden_size
        start = model.generation_config.decoder_start_token_id
        self._start = 0 if start is None else start
        self.padding = padding_token(model)
        shapes = self._key_value_shapes()
        self.layers = len(shapes)
        head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.vocabulary_size: int = head.weight.shape[0]
        for layer, (keys, values) in enumerate(shapes):
            for name, pages in (
                ("self", capacity.pages),
                ("cross", capacity.cross_pages),
            ):
                page, dtype = capacity.page_size, capacity.dtype
                self.register_buffer(
                    f"{name}_keys_{layer}", torch.zeros(pages, *keys, page, dtype=dtype)
                )
                self.register_buffer(
                    f"{name}_values_{layer}",
                    torch.zeros(pages, values[0], page, values[1], dtype=dtype),
                )

    def encode(
        self, input_ids: torch.Tensor, lengths: torch.Tensor, cross_table: torch.Tensor
    ) -> None:
        """Writes what decoders read of some texts into their pages.

        Parameters
        ----------
        input_ids
            [batch, source], padded with the padding token.
        lengths
            [batch]: tokens of each text.
        cross_table
            [batch, pages]: where each text's go.
        """
        batch, source = input_ids.shape
        mask = (torch.arange(source)[None] < lengths[:, None]).long()
        with attention(PaddedAttention(lengths)):
            encoded = self.model.get_encoder()(input_ids=input_ids, attention_mask=mask)
        cross = KeyValueSink()
        with attention(NoAttention()):
            self._decoder_step(
                torch.full((batch, 1), self._start),
                encoded.last_hidden_state,
                EncoderDecoderCache(KeyValueSink(), cross),
            )
        for layer, (keys, values) in cross.taken.items():
            pools = self._pools("cross", layer)
            torch.ops.polystate.write_pages(
                keys.transpose(1, 2),
                values.transpose(1, 2),
                pools.keys,
                pools.values,
                cross_table,
                lengths,
            )

    def decode(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        page_table: torch.Tensor,
        cross_table: torch.Tensor,
        cross_lengths: torch.Tensor,
        counted: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """One token further in every row, each at a position of its own.

        Parameters
        ----------
        input_ids
            [rows, 1]: each row's last token.
        positions
            [rows]: its position in its sequence.
        page_table
            [rows, pages]: where the row's keys and values are and go.
        cross_table, cross_lengths
            [rows, pages], [rows]: where its text is, as ``encode`` was told.
        counted
            [rows]: tokens before it that the model's own positions count. None: ``positions``.

        Returns
        -------
        torch.Tensor
            [rows, vocabulary]: logits of the next token.
        """
        count = input_ids.shape[0]
        rows = Rows(positions, page_table, cross_table, cross_lengths)
        own_pools, cross_pools = self._all_pools("self"), self._all_pools("cross")
        page = own_pools[0].keys.shape[3]
        counted = positions if counted is None else counted
        if self._rows_as_batch:
            batch, tokens, seen = count, 1, counted[:, None]
        else:
            batch, tokens, seen = 1, count, counted - torch.arange(count)
        own = EarlierSteps(seen, page_table.shape[1] * page)
        encoded = EncodedText(cross_pools, batch, cross_table.shape[1] * page)
        caches = EncoderDecoderCache(own, encoded)
        caches.is_updated = dict.fromkeys(range(self.layers), True)
        with attention(PagedAttention(rows, (own, own_pools), (encoded, cross_pools))):
            logits = self._decoder_step(
                input_ids.reshape(batch, tokens), torch.zeros(batch, 1, self._width), caches
            )
        return logits.reshape(count, logits.shape[-1])

    def copy_pages(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Makes pages of the decoder's own caches copies of others, in all layers.

        Parameters
        ----------
        source, target
            [pages]: page ``target[i]`` becomes a copy of page ``source[i]``.
        """
        for pools in self._all_pools("self"):
            torch.ops.polystate.copy_pages(pools.keys, pools.values, source, target)

    def clear(self) -> None:
        """Fills all pages with zeros."""
        for buffer in self.buffers(recurse=False):
            buffer.zero_()

    def _decoder_step(
        self, ids: torch.Tensor, encoded: torch.Tensor, caches: EncoderDecoderCache
    ) -> torch.Tensor:
        """The logits [batch, tokens, vocabulary] after some tokens of each sequence."""
        output: Any = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=encoded),
            decoder_input_ids=ids,
            decoder_attention_mask=torch.ones_like(ids),
            past_key_values=caches,
            use_cache=True,
        )
        logits: torch.Tensor = output.logits
        return logits

    def _key_value_shapes(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Heads and head size of keys and of values, for each layer: found by a step."""
        own, cross = KeyValueSink(), KeyValueSink()
        with torch.no_grad(), attention(NoAttention()):
            self._decoder_step(
                torch.full((1, 1), self._start),
                torch.zeros(1, 1, self._width),
                EncoderDecoderCache(own, cross),
            )
        return [
            ((keys.shape[1], keys.shape[3]), (values.shape[1], values.shape[3]))
            for _, (keys, values) in sorted(own.taken.items())
        ]

    def _pools(self, name: str, layer: int) -> Pools:
        return Pools(
            self.get_buffer(f"{name}_keys_{layer}"), self.get_buffer(f"{name}_values_{layer}")
        )

    def _all_pools(self, name: str) -> list[Pools]:
        return [self._pools(name, layer) for layer in range(self.layers)]
