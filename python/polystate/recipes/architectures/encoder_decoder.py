"""An encoder-decoder model of transformers as methods over paged caches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from transformers import EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from polystate.export import Method
from polystate.recipes.architectures.token_model import (
    Form,
    Input,
    TokenModel,
    count,
    example_sequences,
    size,
)
from polystate.recipes.capacity import Capacity
from polystate.recipes.drawn_pages import drawn_by_method
from polystate.recipes.paged.attention import (
    NoAttention,
    PaddedAttention,
    PagedAttention,
    Source,
    Step,
    attention,
)
from polystate.recipes.paged.caches import (
    EarlierSteps,
    EncodedText,
    KeyValueSink,
    LayerShape,
    PagedCaches,
)
from polystate.recipes.paged.kinds import cache_kinds


class EncoderDecoder(TokenModel):
    """The methods ``encode``, ``forward`` and ``copy_pages`` over a model and its pools of pages.

    Parameters
    ----------
    model
        In ``eval`` mode, within :func:`own_attention`.
    """

    forms: ClassVar[Sequence[Form]] = [
        Form(as_batch, skips, selects_first)
        for selects_first, as_batch, skips in itertools.product(
            (True, False), (True, False), (False, True)
        )
    ]

    def __init__(self, model: PreTrainedModel, capacity: Capacity, form: Form) -> None:
        super().__init__(model, capacity, form)
        self._width = model.get_encoder().config.hidden_size
        start = model.generation_config.decoder_start_token_id
        self._start = 0 if start is None else start
        shapes = self._layer_shapes()
        page = capacity.page_size, capacity.dtype
        self.kinds = cache_kinds([0] * len(shapes), capacity)
        self.self_caches = PagedCaches(shapes, [capacity.pages] * len(shapes), *page)
        self.cross_caches = PagedCaches(shapes, [capacity.cross_pages] * len(shapes), *page)

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
        for layer, pools in enumerate(self.cross_caches.pools()):
            keys, values = cross.taken[layer]
            torch.ops.polystate.write_pages(
                keys.transpose(1, 2),
                values.transpose(1, 2),
                pools.keys,
                pools.values,
                cross_table,
                lengths,
            )

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        rows: torch.Tensor,
        page_table: torch.Tensor,
        cross_table: torch.Tensor,
        cross_lengths: torch.Tensor,
        wanted: torch.Tensor,
        counted: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """One step: some tokens of some sequences, in any order.

        Parameters
        ----------
        input_ids, positions, rows
            [tokens]: what is read, where it stands in its sequence, and which of the sequences
            that is.
        page_table
            [sequences, pages]: where each sequence's keys and values are and go.
        cross_table, cross_lengths
            [sequences, pages], [sequences]: where its text is, as ``encode`` was told.
        wanted
            [m]: which of the tokens' logits are given.
        counted
            [tokens]: tokens before each that the model's own positions count. None: ``positions``.

        Returns
        -------
        torch.Tensor
            [m, vocabulary]: logits of the tokens that follow the wanted ones.
        """
        step = Step(positions, rows, page_table)
        self_pools, cross_pools = self.self_caches.pools(), self.cross_caches.pools()
        page = self.self_caches.page_size
        counted = positions if counted is None else counted
        ids = input_ids[:, None] if self.form.tokens_as_batch else input_ids[None]
        batch, tokens = ids.shape
        seen = counted[:, None] if self.form.tokens_as_batch else counted - torch.arange(tokens)
        own = EarlierSteps(seen, page_table.shape[1] * page)
        encoded = EncodedText(cross_pools, batch, cross_table.shape[1] * page)
        caches = EncoderDecoderCache(own, encoded)
        caches.is_updated = dict.fromkeys(range(len(self_pools)), True)
        nothing = torch.zeros(batch, 1, self._width)
        source = Source(cross_table, cross_lengths)
        with attention(PagedAttention(step, source, (own, self_pools), (encoded, cross_pools))):
            return self.wanted_logits(wanted, lambda: self._decoder_step(ids, nothing, caches))

    def clear(self) -> None:
        """Fills all pages with zeros."""
        super().clear()
        self.cross_caches.clear()

    def entry_points(self, capacity: Capacity) -> dict[str, Method]:
        """The methods with their examples: two texts, of one page each."""
        texts = example_sequences(capacity)
        ones, table = torch.ones(texts, dtype=torch.int64), torch.arange(texts)[:, None]
        source = size("source", capacity.source_length)
        cross_pages = size("cross_pages", capacity.source_pages)
        batch = count("batch", capacity.max_sequences)
        encode = Method(
            "encode",
            (torch.full((texts, 1), 3), ones, table),
            dynamic_shapes=({0: batch, 1: source}, {0: batch}, {0: batch, 1: cross_pages}),
            draw=drawn_by_method(capacity, self.padding, self.kinds)["encode"],
        )
        return {"encode": encode, **super().entry_points(capacity)}

    def forward_inputs(self, capacity: Capacity) -> dict[str, Input]:
        """Of ``forward``, with a source for each sequence."""
        inputs = super().forward_inputs(capacity)
        table = inputs["page_table"]
        rows = table.sizes[0]
        cross_pages = size("cross_pages", capacity.source_pages)
        inputs |= {
            "cross_table": Input(table.example, {0: rows, 1: cross_pages}),
            "cross_lengths": Input(torch.ones(len(table.example), dtype=torch.int64), {0: rows}),
        }
        if self.form.skips_padding:
            positions = inputs["positions"]
            inputs["counted"] = Input(positions.example.clone(), positions.sizes)
        return inputs

    def constants(self, capacity: Capacity) -> dict[str, Any]:
        """What the runner reads of an artifact (docs/artifact.md)."""
        return super().constants(capacity) | {
            "cross_pages": capacity.cross_pages,
            "max_source_length": capacity.source_length,
        }

    def read_sources(self, sources: Sequence[torch.Tensor], capacity: Capacity) -> dict[str, Any]:
        """Encodes texts, as one batch, each into pages of its own."""
        lengths = torch.tensor([len(source) for source in sources])
        padded = torch.nn.utils.rnn.pad_sequence(
            list(sources), batch_first=True, padding_value=self.padding
        )
        table = torch.arange(len(sources) * capacity.source_pages).view(len(sources), -1)
        self.encode(padded, lengths, table)
        return {"cross_table": table, "cross_lengths": lengths}

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

    def _layer_shapes(self) -> list[LayerShape]:
        """Found by a step."""
        own, cross = KeyValueSink(), KeyValueSink()
        with torch.no_grad(), attention(NoAttention()):
            self._decoder_step(
                torch.full((1, 1), self._start),
                torch.zeros(1, 1, self._width),
                EncoderDecoderCache(own, cross),
            )
        return [
            LayerShape((keys.shape[1], keys.shape[3]), (values.shape[1], values.shape[3]))
            for _, (keys, values) in sorted(own.taken.items())
        ]
