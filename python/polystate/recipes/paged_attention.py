"""Attention over paged caches, in the place of transformers' own.

transformers looks its attention function up by name (``config._attn_implementation``) and calls it
with queries, keys and values just after ``Cache.update``. The caches here only take what they are
given; the attention function then writes and attends in one operator of :mod:`polystate.ops`. Masks
are not built at all: what a token may see follows from positions and lengths.
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
from transformers import AttentionInterface, Cache, PreTrainedModel

from polystate.errors import UnsupportedError

# The name under which transformers finds the attention function.
_IMPLEMENTATION = "polystate_paged"

# Arguments of attention functions that do not change a finished model's result.
_WITHOUT_EFFECT = frozenset(
    {"cache_position", "dropout", "is_causal", "output_attentions", "position_ids", "use_cache"}
)


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
class AttentionCall:
    """What an attention function is called with.

    Attributes
    ----------
    query, key, value
        [batch, heads, tokens, head size]
    bias
        [1 or batch, heads, tokens, positions], added to the scores; or None.
    scale, softcap, window, sinks
        As the operators of :mod:`polystate.ops.attention` take them.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    bias: torch.Tensor | None
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


class KeyValueSink(Cache):
    """Takes the keys and values that a model makes, layer by layer, and keeps nothing else."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.taken: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

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
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Nothing was there before."""
        return 0


class EarlierSteps(KeyValueSink):
    """Stands for the keys and values of a row's earlier steps, which lie in pages.

    Parameters
    ----------
    seen
        What ``get_seq_length`` answers: the rows' positions, in the shape that makes the model's
        own arithmetic with them come out by rows.
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
        """The rows' positions."""
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


@dataclass(frozen=True)
class Rows:
    """Where the rows of a step have their keys and values.

    Attributes
    ----------
    positions
        [rows]: the position of each row's new token.
    page_table
        [rows, pages]: the pages of its earlier tokens and of the new one.
    cross_table, cross_lengths
        [rows, pages] and [rows]: the pages of its source text, and the tokens there.
    """

    positions: torch.Tensor
    page_table: torch.Tensor
    cross_table: torch.Tensor
    cross_lengths: torch.Tensor


class PagedAttention(Attention):
    """Of one new token a row, over pages."""

    def __init__(
        self,
        rows: Rows,
        own: tuple[EarlierSteps, Sequence[Pools]],
        encoded: tuple[EncodedText, Sequence[Pools]],
    ) -> None:
        self._rows = rows
        self._own, self._own_pools = own
        self._encoded, self._encoded_pools = encoded

    def attend(self, call: AttentionCall) -> torch.Tensor:
        """Tells by the keys which layer of which cache is meant."""
        for layer, seeming in self._own.seeming.items():
            if call.key is seeming:
                return self._write_and_attend(call, layer)
        for layer, seeming in enumerate(self._encoded.seeming):
            if call.key is seeming:
                return self._attend_to_source(call, layer)
        raise UnsupportedError(
            "the model changes its keys between Cache.update and the attention function, which "
            "paged caches do not see"
        )

    def _write_and_attend(self, call: AttentionCall, layer: int) -> torch.Tensor:
        pools = self._own_pools[layer]
        query, key, value = (_by_rows(t) for t in (call.query, *self._own.taken[layer]))
        result = torch.ops.polystate.paged_attention(
            query,
            key,
            value,
            pools.keys,
            pools.values,
            self._rows.page_table,
            self._rows.positions,
            torch.arange(query.shape[0]),
            _bias_by_rows(call.bias, call.query),
            call.sinks,
            call.scale,
            call.softcap,
            call.window,
        )
        return _as_the_query(result, call.query)

    def _attend_to_source(self, call: AttentionCall, layer: int) -> torch.Tensor:
        pools = self._encoded_pools[layer]
        query = _by_rows(call.query)
        result = torch.ops.polystate.cross_attention(
            query,
            pools.keys,
            pools.values,
            self._rows.cross_table,
            self._rows.cross_lengths,
            torch.arange(query.shape[0]),
            _bias_by_rows(call.bias, call.query),
            call.scale,
            call.softcap,
        )
        return _as_the_query(result, call.query)


def _by_rows(states: torch.Tensor) -> torch.Tensor:
    """[batch, heads, tokens, size] as [batch * tokens, heads, size]: a row is one token."""
    _, heads, _, size = states.shape
    return states.transpose(1, 2).reshape(-1, heads, size)


def _as_the_query(result: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """[batch * tokens, heads, size] as [batch, tokens, heads, size]."""
    batch, _, tokens, _ = query.shape
    return result.reshape(batch, tokens, *result.shape[1:])


def _bias_by_rows(bias: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor | None:
    """[1 or batch, heads, tokens, positions] as [1, heads, batch * tokens, positions]."""
    if bias is None:
        return None
    bias = bias.expand(query.shape[0], *bias.shape[1:])
    return bias.transpose(0, 1).flatten(1, 2)[None]


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
        model.set_attn_implementation(_IMPLEMENTATION)
    except ValueError as error:
        raise UnsupportedError(f"{refusal}: {error}") from error
    if model.config._attn_implementation != _IMPLEMENTATION:  # it may only log that it cannot
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
        query.shape[-1] ** -0.5 if scaling is None else scaling,
        softcap or 0.0,
        sliding_window or 0,
        s_aux,
    )
    return _attention.get().attend(call), None


AttentionInterface.register(_IMPLEMENTATION, _attend)
