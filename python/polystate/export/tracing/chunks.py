"""Chunks of a dimension whose size varies: their number must not, their sizes may.

PyTorch's own function fixes the size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from polystate.errors import UnsupportedError

aten = torch.ops.aten


class ChunksOfAnySize(TorchFunctionMode):
    """Lets torch.export trace them without the size of what they are parts of, within its block."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in (torch.chunk, torch.Tensor.chunk):
            chunks = _chunks(*args, **(kwargs or {}))
            if chunks is not None:
                return chunks
        return func(*args, **(kwargs or {}))


def _chunks(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...] | None:
    """Parts of one size, rounded up, but for the last one; None where the size is known."""
    size = input.shape[dim]
    if not isinstance(size, torch.SymInt):
        return None
    count, largest = _count(size, chunks), (size + chunks - 1) // chunks
    ends = [0, *(i * largest for i in range(1, count)), size]
    return tuple(aten.slice.Tensor(input, dim, *each) for each in itertools.pairwise(ends))


def _count(size: torch.SymInt, chunks: int) -> int:
    """The number of parts, which is smaller than what is asked for where the size is small."""
    limits = size.node.shape_env.bound_sympy(size.node.expr)
    # From `chunks * chunks` on there are as many.
    low, high = int(limits.lower), int(min(limits.upper, chunks * chunks))
    counts = {_count_of(each, chunks) for each in range(low, max(low, high) + 1)}
    if len(counts) > 1:
        raise UnsupportedError(
            f"chunk({chunks}) gives {min(counts)} to {max(counts)} parts of a dimension of "
            f"{limits.lower} to {limits.upper}, and a program one number of them: give the Dim a "
            f"min for which the dimension is {chunks * (chunks - 1)} or more"
        )
    return counts.pop()


def _count_of(size: int, chunks: int) -> int:
    largest = -(-size // chunks)
    return -(-size // largest) if largest else chunks
