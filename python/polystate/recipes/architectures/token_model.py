"""What models of tokens have in common: steps over pools of pages, and copies of pages."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch.export import Dim
from transformers import PreTrainedModel

from polystate.errors import UnsupportedError
from polystate.export import Method
from polystate.recipes.capacity import Capacity
from polystate.recipes.drawn_pages import drawn_by_method
from polystate.recipes.paged.caches import PagedCaches
from polystate.recipes.paged.kinds import TABLES, CacheKind
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

    tokens_as_batch: bool = False
    skips_padding: bool = False
    selects_first: bool = True

    def __str__(self) -> str:
        tokens = "a batch" if self.tokens_as_batch else "one sequence"
        padding = "not counted" if self.skips_padding else "counted"
        selected = "first" if self.selects_first else "last"
        return f"tokens as {tokens}, padding {padding}, logits selected {selected}"


@dataclass(frozen=True)
class Input:
    """An example of an input, and the sizes that vary of it."""

    example: torch.Tensor
    sizes: dict[int, Dim | None]


class TokenModel(torch.nn.Module, abc.ABC):
    """A model of transformers as the methods ``forward`` and ``copy_pages`` over pools of pages.

    ``forward`` is one step: some tokens of some sequences, in any order.

    Parameters
    ----------
    model
        In ``eval`` mode, within :func:`own_attention`.
    """

    # The forms that are tried, in this order.
    forms: ClassVar[Sequence[Form]]
    # The pages of what is read and generated, and their kinds: one, or two.
    self_caches: PagedCaches
    kinds: Sequence[CacheKind]

    def __init__(self, model: PreTrainedModel, capacity: Capacity, form: Form) -> None:
        super().__init__()
        self.model = model
        self.capacity = capacity
        self.form = form
        self.padding = padding_token(model)
        head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        if head is None:
            raise UnsupportedError(
                f"{type(model).__name__} names no output embeddings, which make its logits"
            )
        self.vocabulary_size: int = head.weight.shape[0]

    def again(self) -> Self:
        """The same methods over the model as it is now, with pools of their own."""
        return type(self)(self.model, self.capacity, self.form).eval()

    def copy_pages(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Makes pages of the decoder's own caches copies of others, in layers of the first kind.

        Parameters
        ----------
        source, target
            [pages]: page ``target[i]`` becomes a copy of page ``source[i]``.
        """
        self.self_caches.copy_pages(source, target, self.kinds[0].layers)

    def copy_window_pages(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """The same in layers of the second kind, which see a window."""
        self.self_caches.copy_pages(source, target, self.kinds[1].layers)

    def clear(self) -> None:
        """Fills all pages with zeros."""
        self.self_caches.clear()

    def pages(self, capacity: Capacity) -> dict[str, int]:
        """The pages that an artifact has, of each pool that has fewer here."""
        return {
            f"self_caches.{name}": kind.pages(capacity)
            for kind in self.kinds
            for name, pool in self.self_caches.named_pools(kind.layers)
            if len(pool) != kind.pages(capacity)
        }

    def entry_points(self, capacity: Capacity) -> dict[str, Method]:
        """The methods with their examples."""
        draws = drawn_by_method(capacity, self.padding, self.kinds)
        known = self.forward_inputs(capacity)
        names = inspect.signature(self.forward).parameters
        inputs = [known[name] for name in names if name in known]
        copies = {0: count("copies", capacity.max_sequences)}
        found = {
            "forward": Method(
                "forward",
                tuple(each.example for each in inputs),
                dynamic_shapes=tuple(each.sizes for each in inputs),
                draw=draws["forward"],
            )
        }
        for name, _ in zip(("copy_pages", "copy_window_pages"), self.kinds, strict=False):
            found[name] = Method(
                name,
                (torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)),
                dynamic_shapes=(copies, copies),
                draw=draws[name],
            )
        return found

    def forward_inputs(self, capacity: Capacity) -> dict[str, Input]:
        """Of ``forward``: a token of each of two sequences, and another of the first."""
        sequences = example_sequences(capacity)
        place = torch.arange(min(sequences + 1, capacity.max_step_tokens))
        of_token = {0: count("tokens", capacity.max_step_tokens)}
        rows = count("sequences", capacity.max_sequences)
        pages = size("pages", capacity.pages_of_sequence)
        table = Input(torch.arange(sequences)[:, None], {0: rows, 1: pages})
        return {
            "input_ids": Input(torch.full_like(place, 3), of_token),
            "positions": Input(place // sequences, of_token),
            "rows": Input(place % sequences, of_token),
            "page_table": table,
            "wanted": Input(place[:sequences], {0: count("wanted", capacity.max_wanted)}),
        } | {name: table for name, _ in zip(TABLES[1:], self.kinds[1:], strict=False)}

    def constants(self, capacity: Capacity) -> dict[str, Any]:
        """What the runner reads of an artifact (docs/artifact.md)."""
        return {
            "runner": "token_model",
            "padding_id": self.padding,
            "vocabulary_size": self.vocabulary_size,
            "page_size": capacity.page_size,
            "pages": self.kinds[0].pages(capacity),
            **self._constants_of_window(capacity),
            "max_sequences": capacity.max_sequences,
            "max_step_tokens": capacity.max_step_tokens,
            "max_wanted": capacity.max_wanted,
            "max_length": capacity.max_length,
        }

    def _constants_of_window(self, capacity: Capacity) -> dict[str, int]:
        """Where some layers, or all, have pages of a window."""
        *others, last = self.kinds
        if last.window == 0:
            return {}
        pages = {"window_pages": last.pages(capacity)} if others else {}
        return {"window": last.window, **pages}

    def tables(self, rows: int, capacity: Capacity) -> dict[str, torch.Tensor]:
        """Page tables of sequences side by side: each has the pages of a kind in turn."""
        found = {}
        for name, kind in zip(TABLES, self.kinds, strict=False):
            pages = kind.row_pages(capacity)
            column = torch.arange(capacity.pages_of_sequence) % pages
            found[name] = torch.arange(rows)[:, None] * pages + column
        return found

    @abc.abstractmethod
    def read_sources(self, sources: Sequence[torch.Tensor], capacity: Capacity) -> dict[str, Any]:
        """Encodes texts, where the model has an encoder, each into pages of its own.

        Returns
        -------
        dict
            What ``forward`` is told of them.
        """

    def counted(self, before: Sequence[torch.Tensor]) -> dict[str, Any]:
        """What ``forward`` is told of the tokens before each token of a step."""
        if not self.form.skips_padding:
            return {}
        return {"counted": torch.stack([(tokens != self.padding).sum() for tokens in before])}

    def wanted_logits(
        self, wanted: torch.Tensor, logits_of_all: Callable[[], torch.Tensor]
    ) -> torch.Tensor:
        """The logits [m, vocabulary] of those of a step's tokens that are wanted.

        Parameters
        ----------
        logits_of_all
            Calls the model, whose logits are [batch, tokens, vocabulary].
        """
        if not self.form.selects_first:
            return logits_of_all().flatten(0, 1)[wanted]
        head: Any = self.model.get_output_embeddings()  # type: ignore[no-untyped-call]
        with only_wanted(head, wanted):
            return logits_of_all().flatten(0, 1)


def padding_token(model: PreTrainedModel) -> int:
    """The padding token; 0 where the model has none."""
    token: int | None = model.config.get_text_config().pad_token_id
    return 0 if token is None else token


def example_sequences(capacity: Capacity) -> int:
    """Sequences of the examples."""
    return min(2, capacity.max_sequences)


def count(name: str, most: int) -> Dim | None:
    """As ``size``. PyTorch takes what is 1 or 2 for 2: it gets a third, which no runner uses."""
    return size(name, 3 if most == 2 else most)


def size(name: str, most: int) -> Dim | None:
    """A size of at least 1; None, which is torch's for a fixed size, where it is at most 1."""
    return Dim(name, min=1, max=most) if most > 1 else None
