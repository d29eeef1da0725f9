"""Attention, over pages of a cache that it writes in place and over dense keys and values.

A cache is two pools of pages in one state, of ``page`` positions each::

    key pool    [pages, kv_heads, head_dim, page]
    value pool  [pages, kv_heads, page, value_dim]

and ``page_table [rows, n]`` says where the sequence of each row lies: its position ``p`` is slot
``p % page`` of page ``page_table[row, p // page]``. What a row does not use of its table, or what
lies before the window of its tokens, is not read, but must name pages as well. A step is a list of
tokens, of any rows in any order: ``rows [tokens]`` has the row of each. All numbers are float32,
all indices int64. Pools may be of float16: keys and values are rounded as they are written, and
what is finite stays so.

Scores are ``scale * (query @ key)``; a ``softcap`` above 0 makes them ``softcap * tanh(score /
softcap)``; then ``bias`` is added. Every kv head serves ``heads // kv_heads`` neighbouring query
heads. ``sinks`` is one more logit for each head in the softmax's denominator. A token that sees
nothing gets zeros. A call whose arguments do not fit changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from polystate.errors import ContractError
from polystate.ops.library import define_with_out
from polystate.ops.places import conflict, misplaced

_LARGEST_HALF = torch.finfo(torch.float16).max


@dataclass(frozen=True)
class _Scoring:
    """How scores are computed.

    Attributes
    ----------
    bias
        ``[1 or batch, 1 or heads, tokens, columns]``, added to the scores.
    sinks
        ``[heads]``.
    softcap
        No cap at 0.
    """

    bias: Tensor | None
    sinks: Tensor | None
    scale: float
    softcap: float


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor, scoring: _Scoring) -> Tensor:
    """Attend to the columns that are seen.

    Parameters
    ----------
    query
        ``[rows, tokens, heads, head_dim]``.
    key, value
        ``[rows, columns, kv_heads, head_dim or value_dim]``.
    seen
        Bool, broadcast to ``[rows, tokens, columns]``.

    Returns
    -------
    Tensor
        ``[rows, tokens, heads, value_dim]``.
    """
    _require(query.shape[2] % key.shape[2] == 0, "heads is not a multiple of kv_heads")
    group = query.shape[2] // key.shape[2]
    if group > 1:
        key, value = (x.repeat_interleave(group, dim=2) for x in (key, value))
    scores = torch.einsum("rthd,rchd->rhtc", query, key) * scoring.scale
    if scoring.softcap > 0:
        scores = scoring.softcap * torch.tanh(scores / scoring.softcap)
    if scoring.bias is not None:
        scores = scores + scoring.bias
    scores = scores.masked_fill(~seen[:, None], -torch.inf)

    sinks = (
        scores.new_full(scores.shape[1:2], -torch.inf) if scoring.sinks is None else scoring.sinks
    )
    logits = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:3], 1)], dim=-1)
    top = logits.amax(-1, keepdim=True)
    weights = torch.exp(logits - top.masked_fill(top == -torch.inf, 0))
    total = weights.sum(-1, keepdim=True)
    weights = torch.where(total != 0, weights / total, 0)[..., :-1]
    return torch.einsum("rhtc,rchd->rthd", weights, value).contiguous()


def _require_scoring(scoring: _Scoring, queries: Sequence[int], columns: int) -> None:
    (batch, tokens, heads), bias, sinks = queries, scoring.bias, scoring.sinks
    if bias is not None:
        found, (outer, inner) = list(bias.shape), bias.shape[:2]
        _require(
            outer in (1, batch) and inner in (1, heads) and found[2:] == [tokens, columns],
            f"bias has shape {found}; it must be [1 or {batch}, 1 or {heads}, {tokens}, {columns}]",
        )
    if sinks is not None:
        found = list(sinks.shape)
        _require(found == [heads], f"sinks has shape {found}; it must be [{heads}]")


def _gather(key_pool: Tensor, value_pool: Tensor, page_table: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values of every row's pages: float32 ``[rows, n * page, kv_heads, ...]``."""
    keys = key_pool[page_table].permute(0, 1, 4, 2, 3).flatten(1, 2)
    values = value_pool[page_table].permute(0, 1, 3, 2, 4).flatten(1, 2)
    return keys.float(), values.float()


def _rounded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Numbers in the type of a pool."""
    return x if dtype == x.dtype else x.clamp(-_LARGEST_HALF, _LARGEST_HALF).to(dtype)


def _write(
    key: Tensor,
    value: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    page_table: Tensor,
    positions: Tensor,
    rows: Tensor | int,
) -> None:
    """Write keys and values ``[tokens, kv_heads, ...]`` at positions ``[tokens]`` of rows."""
    page = key_pool.shape[3]
    pages, slots = page_table[rows, positions // page], positions % page
    key_pool[pages, :, :, slots] = _rounded(key, key_pool.dtype)
    value_pool[pages, :, slots] = _rounded(value, value_pool.dtype)


def _attend_by_rows(
    query: Tensor,
    pools: tuple[Tensor, Tensor],
    page_table: Tensor,
    rows: Tensor,
    seen: Tensor,
    scoring: _Scoring,
) -> Tensor:
    """Let the tokens ``[tokens, heads, head_dim]`` of each row attend to what lies in its pages.

    Parameters
    ----------
    seen
        Bool, ``[tokens, n * page]``.
    scoring
        With a bias ``[1, 1 or heads, tokens, n * page]``.

    Returns
    -------
    Tensor
        ``[tokens, heads, value_dim]``.
    """
    bias = scoring.bias
    result = query.new_empty((*query.shape[:2], pools[1].shape[3]))
    for row in sorted(set(rows.tolist())):
        tokens = (rows == row).nonzero()[:, 0]
        of_row = replace(scoring, bias=None if bias is None else bias[:, :, tokens])
        unread = ~seen[tokens].any(0)[:, None, None]  # may have anything
        keys, values = (
            states.masked_fill(unread, 0) for states in _gather(*pools, page_table[row : row + 1])
        )
        result[tokens] = _attend(query[None, tokens], keys, values, seen[None, tokens], of_row)[0]
    return result


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _require_pages(pages: Tensor, key_pool: Tensor) -> None:
    count = key_pool.shape[0]
    _require(bool(((pages >= 0) & (pages < count)).all()), f"a page is not among the {count}")


def _require_places(page_table: Tensor, positions: Tensor, rows: Tensor, page: int) -> None:
    fault = misplaced(page_table, positions, rows, page)
    if fault is not None:
        raise ContractError(f"not every token has a place of its own: {fault}")


def _require_between(name: str, values: Tensor, low: int, high: int) -> None:
    inside = bool(((values >= low) & (values <= high)).all())
    _require(inside, f"{name} are not between {low} and {high}")


def _paged_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    page_table: Tensor,
    positions: Tensor,
    rows: Tensor,
    bias: Tensor | None,
    sinks: Tensor | None,
    scale: float,
    softcap: float,
    window: int,
) -> Tensor:
    """Write the keys and values of new tokens, of all of them, then let each attend.

    A token sees its row's sequence up to its own position; with a ``window`` above 0 only the last
    ``window`` positions of that.

    Parameters
    ----------
    query
        ``[tokens, heads, head_dim]``.
    key, value
        ``[tokens, kv_heads, head_dim or value_dim]``, written into the pools.
    positions
        ``[tokens]``: where each token stands in its row's sequence. No two tokens have one place.
    rows
        ``[tokens]``: the row of each token in ``page_table``.
    bias
        ``[1, 1 or heads, tokens, n * page]``.
    sinks
        ``[heads]``.

    Returns
    -------
    Tensor
        ``[tokens, heads, value_dim]``.
    """
    scoring, page = _Scoring(bias, sinks, scale, softcap), key_pool.shape[3]
    _require_scoring(scoring, (1, *query.shape[:2]), page_table.shape[1] * page)
    _require_pages(page_table, key_pool)
    _require_places(page_table, positions, rows, page)
    _write(key, value, key_pool, value_pool, page_table, positions, rows)
    columns, own = torch.arange(page_table.shape[1] * page), positions[:, None]
    seen = columns <= own
    if window > 0:
        seen = seen & (columns > own - window)
    return _attend_by_rows(query, (key_pool, value_pool), page_table, rows, seen, scoring)


def _cross_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    cross_table: Tensor,
    lengths: Tensor,
    rows: Tensor,
    bias: Tensor | None,
    scale: float,
    softcap: float,
) -> Tensor:
    """Let every token attend to the first ``lengths[row]`` positions of its row's text.

    Parameters
    ----------
    query
        ``[tokens, heads, head_dim]``.
    cross_table
        ``[rows, k]``: a page table.
    lengths
        ``[rows]``, from 0 to ``k * page``.
    rows
        ``[tokens]``: the row of each token.
    bias
        ``[1, 1 or heads, tokens, k * page]``.

    Returns
    -------
    Tensor
        ``[tokens, heads, value_dim]``.
    """
    count, capacity = cross_table.shape[0], cross_table.shape[1] * key_pool.shape[3]
    scoring = _Scoring(bias, None, scale, softcap)
    _require_scoring(scoring, (1, *query.shape[:2]), capacity)
    _require_pages(cross_table, key_pool)
    _require_between("lengths", lengths, 0, capacity)
    _require_between("rows", rows, 0, count - 1)
    seen = torch.arange(capacity) < lengths[rows][:, None]
    return _attend_by_rows(query, (key_pool, value_pool), cross_table, rows, seen, scoring)


def _write_pages(
    key: Tensor,
    value: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    page_table: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Write the positions ``0..lengths[row] - 1`` of every row.

    The rows are written in their order: of those that name one page the last stays.

    Parameters
    ----------
    key, value
        ``[rows, tokens, kv_heads, head_dim or value_dim]``; what follows a row's length is padding.
    lengths
        ``[rows]``, from 0 to the lesser of ``tokens`` and ``n * page``.

    Returns
    -------
    Tensor
        A copy of ``lengths``.
    """
    capacity = page_table.shape[1] * key_pool.shape[3]
    _require_pages(page_table, key_pool)
    _require_between("lengths", lengths, 0, min(key.shape[1], capacity))
    for row, length in enumerate(lengths.tolist()):
        positions = torch.arange(length)
        new = (key[row, :length], value[row, :length])
        _write(*new, key_pool, value_pool, page_table, positions, row)
    return lengths.clone()


def _copy_pages(key_pool: Tensor, value_pool: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Make page ``target[i]`` a copy of page ``source[i]``.

    Parameters
    ----------
    source, target
        ``[m]``; no page is in both, or the target of two pages.

    Returns
    -------
    Tensor
        A copy of ``target``.
    """
    _require_pages(source, key_pool)
    _require_pages(target, key_pool)
    fault = conflict(source, target)
    if fault is not None:
        raise ContractError(f"not every page can be copied: {fault}")
    for of, to in zip(source.tolist(), target.tolist(), strict=True):
        key_pool[to] = key_pool[of]
        value_pool[to] = value_pool[of]
    return target.clone()


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor | None,
    bias: Tensor | None,
    sinks: Tensor | None,
    scale: float,
    softcap: float,
    window: int,
    causal: bool,
) -> Tensor:
    """Attend to dense keys and values.

    Row ``b`` sees its first ``lengths[b]`` keys, or all. The tokens are the last ones of the keys'
    sequence: token ``t`` stands at ``q = t + keys - tokens``. A ``causal`` one sees no key after
    its own, and with a ``window`` above 0 those after ``q - window``; others see the keys at most
    ``window`` away.

    Parameters
    ----------
    query
        ``[batch, tokens, heads, head_dim]``.
    key, value
        ``[batch, keys, kv_heads, head_dim or value_dim]``.
    lengths
        ``[batch]``, from 0 to ``keys``.
    bias
        ``[1 or batch, 1 or heads, tokens, keys]``.
    sinks
        ``[heads]``.

    Returns
    -------
    Tensor
        ``[batch, tokens, heads, value_dim]``.
    """
    tokens, keys = query.shape[1], key.shape[1]
    columns = torch.arange(keys)
    own = (torch.arange(tokens) + (keys - tokens))[:, None]
    seen = columns < keys
    if causal:
        seen = seen & (columns <= own)
    if window > 0:
        seen = seen & ((columns > own - window) if causal else (columns - own).abs() <= window)
    seen = seen.expand(1, tokens, keys)
    if lengths is not None:
        _require_between("lengths", lengths, 0, keys)
        seen = seen & (columns < lengths[:, None])[:, None]
    scoring = _Scoring(bias, sinks, scale, softcap)
    _require_scoring(scoring, query.shape[:3], keys)
    return _attend(query, key, value, seen, scoring)


def _like_query(query: Tensor, value_dim: int | torch.SymInt) -> Tensor:
    return query.new_empty((*query.shape[:-1], value_dim))


define_with_out(
    "paged_attention",
    "Tensor query, Tensor key, Tensor value, Tensor(a!) key_pool, Tensor(b!) value_pool, "
    "Tensor page_table, Tensor positions, Tensor rows, Tensor? bias, Tensor? sinks, float scale, "
    "float softcap, int window",
    _paged_attention,
    lambda query, key, value, *_: _like_query(query, value.shape[2]),
)
define_with_out(
    "cross_attention",
    "Tensor query, Tensor key_pool, Tensor value_pool, Tensor cross_table, Tensor lengths, "
    "Tensor rows, Tensor? bias, float scale, float softcap",
    _cross_attention,
    lambda query, key_pool, value_pool, *_: _like_query(query, value_pool.shape[3]),
)
define_with_out(
    "write_pages",
    "Tensor key, Tensor value, Tensor(a!) key_pool, Tensor(b!) value_pool, Tensor page_table, "
    "Tensor lengths",
    _write_pages,
    lambda *arguments: torch.empty_like(arguments[5]),
)
define_with_out(
    "copy_pages",
    "Tensor(a!) key_pool, Tensor(b!) value_pool, Tensor source, Tensor target",
    _copy_pages,
    lambda *arguments: torch.empty_like(arguments[3]),
)
define_with_out(
    "attention",
    "Tensor query, Tensor key, Tensor value, Tensor? lengths, Tensor? bias, Tensor? sinks, "
    "float scale, float softcap, int window, bool causal",
    _attention,
    lambda query, key, value, *_: _like_query(query, value.shape[3]),
)
