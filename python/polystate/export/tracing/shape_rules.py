"""Shapes of results that PyTorch's trace has no rule for.

It runs such operators on zeros, which it cannot where a size varies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_impls import op_implementations_dict

aten = torch.ops.aten


@contextlib.contextmanager
def known() -> Iterator[None]:
    """Lets a trace have them within the block."""
    with mock.patch.dict(op_implementations_dict, {op: _fake(rule) for op, rule in _RULES.items()}):
        yield


def _fake(rule: Callable[..., Any]) -> Callable[..., Any]:
    def fake(mode: Any, _: Any, *args: Any, **kwargs: Any) -> Any:
        with mode:
            return rule(*args, **kwargs)

    return fake


def _geqrf(x: Tensor) -> tuple[Tensor, Tensor]:
    """LAPACK writes factors by columns."""
    smaller: Any = torch.sym_min
    *batch, rows, columns = x.shape
    factors = x.new_empty([*batch, columns, rows]).mT
    return factors, x.new_empty([*batch, smaller(rows, columns)])


def least_squares(
    a: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """As driver `gelsy` has them; LAPACK writes a solution where a copy of B was, by columns."""
    if driver not in (None, "gelsy"):
        return NotImplemented
    larger: Any = torch.sym_max
    *_, rows, columns = a.shape
    is_vector = b.dim() == a.dim() - 1
    sides = b.unsqueeze(-1) if is_vector else b
    batch: Any = torch.broadcast_shapes(a.shape[:-2], sides.shape[:-2])  # type: ignore[no-untyped-call]
    wide = b.new_empty([*batch, sides.shape[-1], larger(rows, columns)])
    solution = wide.mT[..., :columns, :]
    return (
        solution.squeeze(-1) if is_vector else solution,
        a.new_empty(0),
        a.new_empty(a.shape[:-2], dtype=torch.int64),
        a.new_empty(0),
    )


def _histogram(x: Tensor, bins: int = 100, **_: Any) -> tuple[Tensor, Tensor]:
    return x.new_empty(bins), x.new_empty(bins + 1)


def _histogram_of_edges(x: Tensor, edges: Tensor, **_: Any) -> tuple[Tensor, Tensor]:
    return x.new_empty(edges.shape[0] - 1), torch.empty_like(edges)


def _counts(x: Tensor, bins: Sequence[int], **_: Any) -> Tensor:
    return x.new_empty(bins)


def _counts_of_edges(x: Tensor, edges: Sequence[Tensor], **_: Any) -> Tensor:
    return x.new_empty([each.shape[0] - 1 for each in edges])


def _edges(x: Tensor, bins: Sequence[int], **_: Any) -> list[Tensor]:
    return [x.new_empty(count + 1) for count in bins]


_RULES: dict[Any, Callable[..., Any]] = {
    aten._histogramdd_bin_edges.default: _edges,
    aten._histogramdd_from_bin_cts.default: _counts,
    aten._histogramdd_from_bin_tensors.default: _counts_of_edges,
    aten.geqrf.default: _geqrf,
    aten.linalg_lstsq.default: least_squares,
    aten.histogram.bin_ct: _histogram,
    aten.histogram.bins_tensor: _histogram_of_edges,
}
