"""Operators that fail a call when a condition on values does not hold.

Each takes the condition and a tensor ``x``, which it returns as a copy: what follows must use the
result, so that no pass may drop the check. ``id`` names the check in the manifest. The ``.out``
forms are those that ExecuTorch calls.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from polystate.errors import ContractError
from polystate.ops.library import define


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


def _define_check(name: str, condition: str, reference: Callable[..., torch.Tensor]) -> None:
    def into_out(x: torch.Tensor, *condition: object, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(reference(x, *condition))

    def fake(x: torch.Tensor, *_: object) -> torch.Tensor:
        return torch.empty_like(x)

    def fake_into_out(x: torch.Tensor, *_: object, out: torch.Tensor) -> torch.Tensor:
        return out

    arguments = f"Tensor x, {condition}, int id"
    define(f"{name}({arguments}) -> Tensor", reference, fake)
    define(f"{name}.out({arguments}, *, Tensor(a!) out) -> Tensor(a!)", into_out, fake_into_out)


# Every element of `value` (bool, integer or float) lies in low..high; NaN does not.
_define_check("check_range", "Tensor value, SymInt low, SymInt high", _check_range)
# Every element of `ok` (bool) is true.
_define_check("check", "Tensor ok", _check)
# The integer `value` lies in low..high.
_define_check("check_size", "SymInt value, SymInt low, SymInt high", _check_size)
