"""Writes ``^`` of numbers and conditions outside tensors by operators that a graph may have.

PyTorch's verifier of graphs knows no ``operator.xor``, and conditions have no ``^`` under a trace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch


@contextlib.contextmanager
def written_exclusive_or() -> Iterator[None]:
    """Have numbers and conditions of a trace inside the block compute it so."""
    with contextlib.ExitStack() as patches:
        for kind, write in ((torch.SymInt, _differing_bits), (torch.SymBool, _one_of_both)):
            for name in ("__xor__", "__rxor__"):  # it does not matter which operand comes first
                patches.enter_context(mock.patch.object(kind, name, write, create=True))
        yield


def _differing_bits(a: Any, b: Any) -> Any:
    """The sum without the bits that both numbers have, which it counts twice."""
    if not isinstance(b, int | torch.SymInt):
        return NotImplemented
    b = int(b) if isinstance(b, bool) else b
    return a + b - 2 * (a & b)


def _one_of_both(a: Any, b: Any) -> Any:
    if not isinstance(b, bool | torch.SymBool):
        return NotImplemented
    return (a | b) & torch.sym_not(a & b)  # type: ignore[no-untyped-call]
