"""Operators that fail a call when a condition on values does not hold.

Each takes the condition and a tensor ``x``, which it returns as a copy: what follows must use the
result, so that no pass may drop the check. ``id`` names the check in the manifest. The ``.out``
forms are those that ExecuTorch calls.
"""

from __future__ import annotations

import torch

from polystate.errors import ContractError
from polystate.ops.library import define_with_out
from polystate.ops.places import conflict, misplaced


def _check_range(
    x: torch.Tensor, value: torch.Tensor, low: int, high: int, id: int
) -> torch.Tensor:
    outside = ~((value >= low) & (value <= high))
    if bool(outside.any()):
        found = value[outside].flatten()[0].item()
        raise ContractError(f"check {id}: {found} is not between {low} and {high}")
    return x.clone()


def _check(x: torch.Tensor, ok: torch.Tensor, id: int) -> torch.Tensor:
    if not bool(ok.all()):
        raise ContractError(f"check {id}: the condition is false")
    return x.clone()


def _check_size(x: torch.Tensor, value: int, low: int, high: int, id: int) -> torch.Tensor:
    if not low <= value <= high:
        raise ContractError(f"check {id}: {value} is not between {low} and {high}")
    return x.clone()


def _check_places(
    x: torch.Tensor,
    page_table: torch.Tensor,
    positions: torch.Tensor,
    rows: torch.Tensor,
    page: int,
    id: int,
) -> torch.Tensor:
    fault = misplaced(page_table, positions, rows, page)
    if fault is not None:
        raise ContractError(f"check {id}: {fault}")
    return x.clone()


def _check_page_copies(
    x: torch.Tensor, source: torch.Tensor, target: torch.Tensor, id: int
) -> torch.Tensor:
    fault = conflict(source, target)
    if fault is not None:
        raise ContractError(f"check {id}: {fault}")
    return x.clone()


def _fake(x: torch.Tensor, *_: object) -> torch.Tensor:
    return torch.empty_like(x)


# Every element of `value` (bool, integer or float) lies in low..high; NaN does not.
define_with_out(
    "check_range",
    "Tensor x, Tensor value, SymInt low, SymInt high, int id",
    _check_range,
    _fake,
)
# Every element of `ok` (bool) is true.
define_with_out("check", "Tensor x, Tensor ok, int id", _check, _fake)
# The integer `value` lies in low..high.
define_with_out(
    "check_size", "Tensor x, SymInt value, SymInt low, SymInt high, int id", _check_size, _fake
)
# Every token has a place of its own, in the pages of its row.
define_with_out(
    "check_places",
    "Tensor x, Tensor page_table, Tensor positions, Tensor rows, SymInt page, int id",
    _check_places,
    _fake,
)
# No page is both a source and a target, or the target of two pages.
define_with_out(
    "check_page_copies",
    "Tensor x, Tensor source, Tensor target, int id",
    _check_page_copies,
    _fake,
)
