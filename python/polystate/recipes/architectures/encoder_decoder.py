"""An encoder-decoder model of transformers as methods over paged caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim
from transformers import EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from polystate.export import Method
from polystate.recipes.capacity import Capacity
from polystate.recipes.drawn_pages import drawn_by_method
from polystate.recipes.paged.attention import (
    NoAttention,
    PaddedAttention,
    PagedAttention,
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
from polystate.recipes.wanted import only_wanted


@dataclass(frozen=True)
class Form:
    """How a model is called; which one suits it is found by trying, results are the same.

    Attributes
    ----------
    tokens_as_batch
        Whether the tokens of a step are given to the model as a batch of sequences of one token, or
        as the tokens of one sequence. Which one a model takes depends on how it adds positions to
        embeddings.
    skips_padding
        Whether the model's positions in a prompt leave out the padding tokens before them, as
        M2M100's do. ``forward`` is told ``counted`` then.
    selects_first
        Whether the tokens whose logits are wanted are selected before the product that makes
        logits, which costs most of a step, or after it.
    """

    tokens_as_batch: bool
    skips_padding: bool = False
    selects_first: bool = True

    def __str__(self) -> str:
        tokens = "a batch" if self.tokens_as_batch else "one sequence"
        padding = "not counted" if self.skips_padding else "counted"
        selected = "first" if self.selects_first else "last"
        return f"tokens as {tokens}, padding {padding}, logits selected {selected}"


def padding_token(model: PreTrainedModel) -> int:
    """The padding token; 0 where the model has none."""
    token: int | None = model.config.get_text_config().pad_token_id
    return 0 if token is None else token


class EncoderDecoder(torch.nn.Module):
    """The methods ``encode``, ``forward`` and ``copy_pages`` over a model and its pools of pages.

    Parameters
    ----------
    model
        In ``eval`` mode, within :func:`own_attention`.
    """

    def __init__(self, model: PreTrainedModel, capacity: Capacity, form: Form) -> None:
        super().__init__()
        self.model = model
        self.form = form
        self._width = model.config.hidden_size
        start = model.generation_config.decoder_start_token_id
        self._start = 0 if start is None else start
        self.padding = padding_token(model)
        head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.vocabulary_size: int = head.weight.shape[0]
        shapes = self._layer_shapes()
        page = capacity.page_size, capacity.dtype
        self.self_caches = PagedCaches(shapes, capacity.pages, *page)
        self.cross_caches = PagedCaches(shapes, capacity.cross_pages, *page)

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
        count = input_ids.shape[0]
        step = Step(positions, rows, page_table, cross_table, cross_lengths)
        self_pools, cross_pools = self.self_caches.pools(), self.cross_caches.pools()
        page = self.self_caches.page_size
        counted = positions if counted is None else counted
        if self.form.tokens_as_batch:
            batch, tokens, seen = count, 1, counted[:, None]
        else:
            batch, tokens, seen = 1, count, counted - torch.arange(count)
        own = EarlierSteps(seen, page_table.shape[1] * page)
        encoded = EncodedText(cross_pools, batch, cross_table.shape[1] * page)
        caches = EncoderDecoderCache(own, encoded)
        caches.is_updated = dict.fromkeys(range(len(self_pools)), True)
        nothing = torch.zeros(batch, 1, self._width)
        with attention(PagedAttention(step, (own, self_pools), (encoded, cross_pools))):
            return self._wanted_logits(input_ids.reshape(batch, tokens), nothing, caches, wanted)

    def copy_pages(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Makes pages of the decoder's own caches copies of others, in all layers.

        Parameters
        ----------
        source, target
            [pages]: page ``target[i]`` becomes a copy of page ``source[i]``.
        """
        self.self_caches.copy_pages(source, target)

    def clear(self) -> None:
        """Fills all pages with zeros."""
        self.self_caches.clear()
        self.cross_caches.clear()

    def _wanted_logits(
        self,
        ids: torch.Tensor,
        encoded: torch.Tensor,
        caches: EncoderDecoderCache,
        wanted: torch.Tensor,
    ) -> torch.Tensor:
        """The logits [m, vocabulary] of those of the tokens [batch, tokens] that are wanted."""
        if not self.form.selects_first:
            return self._decoder_step(ids, encoded, caches).flatten(0, 1)[wanted]
        head: Any = self.model.get_output_embeddings()  # type: ignore[no-untyped-call]
        with only_wanted(head, wanted):
            return self._decoder_step(ids, encoded, caches).flatten(0, 1)

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


def entry_points(methods: EncoderDecoder, capacity: Capacity) -> dict[str, Method]:
    """The methods with their examples: two texts, of one page each."""
    draws = drawn_by_method(capacity, methods.padding)
    count = min(2, capacity.max_sequences)
    ones, table = torch.ones(count, dtype=torch.int64), torch.arange(count)[:, None]
    source = _size("source", capacity.max_source_length)
    cross_pages = _size("cross_pages", capacity.source_pages)
    batch, copies = (_count(name, capacity.max_sequences) for name in ("batch", "copies"))
    return {
        "encode": Method(
            "encode",
            (torch.full((count, 1), 3), ones, table),
            dynamic_shapes=({0: batch, 1: source}, {0: batch}, {0: batch, 1: cross_pages}),
            draw=draws["encode"],
        ),
        "forward": _forward(methods, capacity),
        "copy_pages": Method(
            "copy_pages",
            (torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)),
            dynamic_shapes=({0: copies}, {0: copies}),
            draw=draws["copy_pages"],
        ),
    }


def _forward(methods: EncoderDecoder, capacity: Capacity) -> Method:
    """Its example is a token of each text and another of the first."""
    sequences = min(2, capacity.max_sequences)
    ones, table = torch.ones(sequences, dtype=torch.int64), torch.arange(sequences)[:, None]
    place = torch.arange(min(sequences + 1, capacity.max_step_tokens))
    positions = place // sequences
    counted = (positions.clone(),) if methods.form.skips_padding else ()
    of_token = {0: _count("tokens", capacity.max_step_tokens)}
    of_sequence = {0: _count("sequences", capacity.max_sequences)}
    return Method(
        "forward",
        (
            torch.full_like(place, 3),
            positions,
            place % sequences,
            table,
            table,
            ones,
            place[:sequences],
            *counted,
        ),
        dynamic_shapes=(
            of_token,
            of_token,
            of_token,
            {**of_sequence, 1: _size("pages", capacity.target_pages)},
            {**of_sequence, 1: _size("cross_pages", capacity.source_pages)},
            of_sequence,
            {0: _count("wanted", capacity.max_wanted)},
            *(of_token for _ in counted),
        ),
        draw=drawn_by_method(capacity, methods.padding)["forward"],
    )


def constants(methods: EncoderDecoder, capacity: Capacity) -> dict[str, Any]:
    """What the runner reads of an artifact (docs/artifact.md)."""
    return {
        "runner": "token_model",
        "padding_id": methods.padding,
        "vocabulary_size": methods.vocabulary_size,
        "page_size": capacity.page_size,
        "pages": capacity.pages,
        "cross_pages": capacity.cross_pages,
        "max_sequences": capacity.max_sequences,
        "max_step_tokens": capacity.max_step_tokens,
        "max_wanted": capacity.max_wanted,
        "max_source_length": capacity.max_source_length,
        "max_length": capacity.max_length,
    }


def _count(name: str, most: int) -> Dim | None:
    """As ``_size``. PyTorch takes what is 1 or 2 for 2: it gets a third, which no runner uses."""
    return _size(name, 3 if most == 2 else most)


def _size(name: str, most: int) -> Dim | None:
    """A size of at least 1; None, which is torch's for a fixed size, where it is at most 1."""
    return Dim(name, min=1, max=most) if most > 1 else None
