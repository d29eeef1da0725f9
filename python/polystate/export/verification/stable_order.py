"""Sorts stably what a module asks to be sorted in any order, and its first elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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
        """Call an operator; a sort or `topk` by a stable sort."""
        if function is aten.topk.default and args[0].dim() > 0:
            self.has_decided = True
            return _top(*args, **kwargs)
        if function not in _SORTS or kwargs.get("stable"):
            return super().call(function, args, kwargs)
        self.has_decided = True
        given = dict(zip(("dim", "descending"), args[1:], strict=False))
        return aten.sort.stable(args[0], **{**given, **kwargs, "stable": True})


def _top(
    x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The first elements of a stable sort; they are in order, whether or not that is asked for."""
    values, places = aten.sort.stable(x, stable=True, dim=dim, descending=largest)
    return values.narrow(dim, 0, k).clone(), places.narrow(dim, 0, k).clone()


_SORTS = {aten.sort.default, aten.sort.stable}
