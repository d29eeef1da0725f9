"""Losses whose sizes vary, with the right reduction.

PyTorch traces some losses by functions that take a reduction by its name, but gives them its
number. They refuse that, or take it for another argument, so that ``none`` becomes ``sum``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._decomp import decomposition_table

aten = torch.ops.aten

_NAMES = ("none", "mean", "sum")

_LOSSES = (
    aten.hinge_embedding_loss.default,
    aten.margin_ranking_loss.default,
    aten.nll_loss.default,
)


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Gives these functions the names within the block."""
    table = {loss: _with_name(loss, decomposition_table[loss]) for loss in _LOSSES}
    with mock.patch.dict(decomposition_table, table):
        yield


def _with_name(loss: torch._ops.OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    names = [argument.name for argument in loss._schema.arguments]
    place = names.index("reduction")

    @functools.wraps(function)
    def reduced_by_name(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names[place:], args[place:], strict=False)), **kwargs}
        reduction = given.get("reduction", 1)
        given["reduction"] = _NAMES[reduction] if isinstance(reduction, int) else reduction
        return function(*args[:place], **given)

    return reduced_by_name
