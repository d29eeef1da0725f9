"""An operator that says in which order others run.

``copy_after(x, others)`` is a copy of ``x``, made when ``others`` have been computed. No compiler
sees into it: what is computed from the copy cannot be computed in the memory of ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from polystate.ops.library import define


def _copy_after(x: Tensor, _: Sequence[Tensor]) -> Tensor:
    return x.clone()


define("copy_after(Tensor x, Tensor[] others) -> Tensor", _copy_after, _copy_after)
