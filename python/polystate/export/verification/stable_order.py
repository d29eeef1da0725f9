"""Sorts stably what a module asks to be sorted in any order."""

from __future__ import annotations

from typing import Any

import torch

from polystate.export.verification.undefined import Undefined

aten = torch.ops.aten


class StableOrder(Undefined):  # type: ignore[no-untyped-call]
    """Leaves equal elements in their order, as programs do; PyTorch's own order is by chance.

    Attributes
    ----------
    has_decided
        Whether anything was sorted for which that may be another order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.has_decided = False

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator, a sort by its stable form."""
        if function not in _SORTS or kwargs.get("stable"):
            return super().call(function, args, kwargs)
        self.has_decided = True
        given = dict(zip(("dim", "descending"), args[1:], strict=False))
        return aten.sort.stable(args[0], **{**given, **kwargs, "stable": True})


_SORTS = {aten.sort.default, aten.sort.stable}
