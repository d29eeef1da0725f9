"""Attention over paged caches, in the place of transformers' own.

transformers looks its attention function up by name (``config._attn_implementation``) and calls it
with queries, keys and values just after ``Cache.update``. The caches of :mod:`caches` only take
what they are given; the attention function then writes and attends in one operator of
:mod:`polystate.ops`. Masks are not built at all: what a token may see follows from positions and
lengths.
"""

from __future__ import annotations

import abc
import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from transformers import AttentionInterface, PreTrainedModel

from polystate.errors import UnsupportedError
from polystate.recipes.paged.caches import EarlierSteps, EncodedText, Pools

# The name under which transformers finds the attention function.
IMPLEMENTATION = "polystate_paged"

# Arguments of attention functions that do not change a finished model's result.
_WITHOUT_EFFECT = frozenset(
    {
        "cache_position",
        "dropout",
        "is_causal",
        "output_attentions",
        "output_router_logits",
        "position_ids",
        "use_cache",
    }
)


@dataclass(frozen=True)
class AttentionCall:
    """What an attention function is called with.

    Attributes
    ----------
    query, key, value
        [batch, heads, tokens, head size]
    bias
        [1 or batch, heads, tokens, positions], added to the scores; or None.
    mask
        The mask that the model made, if it did.
    scale, softcap, window, sinks
        As the operators of :mod:`polystate.ops.attention` take them.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    bias: torch.Tensor | None
    mask: torch.Tensor | None
    scale: float
    softcap: float
    window: int
    sinks: torch.Tensor | None


class Attention(abc.ABC):
    """How attention is computed while a method of the model runs."""

    @abc.abstractmethod
    def attend(self, call: AttentionCall) -> torch.Tensor:
        """The result [batch, tokens, heads, head size]."""


class PaddedAttention(Attention):
    """Among the tokens of each text of a padded batch, all of them at once.

    Parameters
    ----------
    lengths
        [batch]: tokens of each text.
    """

    def __init__(self, lengths: torch.Tensor) -> None:
        self._lengths = lengths

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Computes it by one operator, without a mask."""
        result: torch.Tensor = torch.ops.polystate.attention(
            *(tensor.transpose(1, 2) for tensor in (call.query, call.key, call.value)),
            self._lengths,
            call.bias,
            call.sinks,
            call.scale,
            call.softcap,
            call.window,
            False,
        )
        return result


class NoAttention(Attention):
    """For steps whose results nobody reads."""

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Gives anything of the right shape."""
        return call.query.transpose(1, 2)


@dataclass(frozen=True)
class Step:
    """The tokens of a step, and where their sequences have their keys and values.

    Attributes
    ----------
    positions, rows
        [tokens]: where each token stands in its sequence, and which of the sequences that is.
    page_table
        [sequences, pages]: the pages of a sequence's earlier tokens and of the new ones.
    """

    positions: torch.Tensor
    rows: torch.Tensor
    page_table: torch.Tensor

    def write_and_attend(
        self, call: AttentionCall, key: torch.Tensor, value: torch.Tensor, pools: Pools
    ) -> torch.Tensor:
        """Writes the tokens' keys and values into pools, then lets each attend.

        Parameters
        ----------
        key, value
            [batch, heads, tokens, head size]

        Returns
        -------
        torch.Tensor
            [batch, tokens, heads, head size]
        """
        result = torch.ops.polystate.paged_attention(
            _by_tokens(call.query),
            _by_tokens(key),
            _by_tokens(value),
            pools.keys,
            pools.values,
            self.page_table,
            self.positions,
            self.rows,
            _bias_by_tokens(call.bias, call.query),
            call.sinks,
            call.scale,
            call.softcap,
            call.window,
        )
        return _as_the_query(result, call.query)


@dataclass(frozen=True)
class Source:
    """Where the sequences of a step have their source texts.

    Attributes
    ----------
    table, lengths
        [sequences, pages] and [sequences]: a text's pages, and the tokens there.
    """

    table: torch.Tensor
    lengths: torch.Tensor


class PagedAttention(Attention):
    """Of the tokens of a step of a decoder, over its own pages and those of the source."""

    def __init__(
        self,
        step: Step,
        source: Source,
        own: tuple[EarlierSteps, Sequence[Pools]],
        encoded: tuple[EncodedText, Sequence[Pools]],
    ) -> None:
        self._step = step
        self._source = source
        self._own, self._own_pools = own
        self._encoded, self._encoded_pools = encoded

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Tells by the keys which layer of which cache is meant."""
        for layer, seeming in self._own.seeming.items():
            if call.key is seeming:
                keys_and_values = self._own.taken[layer]
                return self._step.write_and_attend(call, *keys_and_values, self._own_pools[layer])
        for layer, seeming in enumerate(self._encoded.seeming):
            if call.key is seeming:
                return self._attend_to_source(call, layer)
        raise UnsupportedError(
            "the model changes its keys between Cache.update and the attention function, which "
            "paged caches do not see"
        )

    def _attend_to_source(self, call: AttentionCall, layer: int) -> torch.Tensor:
        pools = self._encoded_pools[layer]
        result = torch.ops.polystate.cross_attention(
            _by_tokens(call.query),
            pools.keys,
            pools.values,
            self._source.table,
            self._source.lengths,
            self._step.rows,
            _bias_by_tokens(call.bias, call.query),
            call.scale,
            call.softcap,
        )
        return _as_the_query(result, call.query)


def _by_tokens(states: torch.Tensor) -> torch.Tensor:
    """[batch, heads, tokens, size] as [batch * tokens, heads, size]."""
    _, heads, _, size = states.shape
    return states.transpose(1, 2).reshape(-1, heads, size)


def _as_the_query(result: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """[batch * tokens, heads, size] as [batch, tokens, heads, size]."""
    batch, _, tokens, _ = query.shape
    return result.reshape(batch, tokens, *result.shape[1:])


def _bias_by_tokens(bias: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor | None:
    """The bias of each token, [1, heads, batch * tokens, positions].

    A model gives one of all tokens, or one of each: in the places of the batch's sequences, or as
    those of one sequence, also where the tokens are a batch, if it adds their positions up so.
    """
    if bias is None:
        return None
    if not statically_known_true(bias.shape[0] == 1):
        return bias.transpose(0, 2)
    if not statically_known_true(bias.shape[2] == 1):
        return bias
    batch, _, tokens, _ = query.shape
    return bias.expand(1, -1, batch * tokens, -1)


_attention: contextvars.ContextVar[Attention] = contextvars.ContextVar("attention")


@contextlib.contextmanager
def attention(attention: Attention) -> Iterator[None]:
    """Computes all attention of the block in one way.

    Model code asks whether it is being compiled before it treats positions as numbers; it is told
    that it is, since here they are tensors.
    """
    token = _attention.set(attention)
    try:
        with mock.patch.object(torch.compiler, "_is_compiling_flag", True):
            yield
    finally:
        _attention.reset(token)


@contextlib.contextmanager
def own_attention(model: PreTrainedModel) -> Iterator[None]:
    """The model with the attention function of this file.

    Raises
    ------
    UnsupportedError
        When the model does not let its attention be replaced.
    """
    before = model.config._attn_implementation
    refusal = f"{type(model).__name__} does not compute attention through transformers' interface"
    try:
        model.set_attn_implementation(IMPLEMENTATION)
    except ValueError as error:
        raise UnsupportedError(f"{refusal}: {error}") from error
    if model.config._attn_implementation != IMPLEMENTATION:  # it may only log that it cannot
        raise UnsupportedError(refusal)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None = None,
    *,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    position_bias: torch.Tensor | None = None,
    s_aux: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Transformers' attention function; ``attention_mask`` has nothing that lengths do not say."""
    for name, given in others.items():
        if given is not None and name not in _WITHOUT_EFFECT:
            raise UnsupportedError(
                f"{type(module).__name__} computes attention with '{name}', which is not supported"
            )
    call = AttentionCall(
        query,
        key,
        value,
        position_bias,
        attention_mask,
        query.shape[-1] ** -0.5 if scaling is None else scaling,
        softcap or 0.0,
        sliding_window or 0,
        s_aux,
    )
    return _attention.get().attend(call), None


AttentionInterface.register(IMPLEMENTATION, _attend)
