"""Spares XNNPACK the search for patterns that none of its delegates can have.

For every delegate of a program it looks for two compositions of operators: attention, whose mask of
empty rows no delegate computes, and bilinear interpolation, which no delegate has decomposed. It
exports examples of them first, which takes longer than all else that a small program needs, and
keeps what it made under the decompositions of that moment; and it prints the graph for a log that
nobody reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from executorch.backends.xnnpack._passes.convert_to_sdpa import ConvertToSDPAPass
from executorch.backends.xnnpack._passes.convert_to_upsample_bilinear2d import (
    ConvertToUpsampleBilinear2d,
)
from torch.fx.passes.infra.pass_base import PassResult

SEARCHES: tuple[type[Any], ...] = (ConvertToSDPAPass, ConvertToUpsampleBilinear2d)


@contextlib.contextmanager
def not_looked_for() -> Iterator[None]:
    """Leaves both searches out within the block."""
    with contextlib.ExitStack() as stack:
        for search in SEARCHES:
            stack.enter_context(mock.patch.object(search, "call", _found_nothing))
        yield


def _found_nothing(search: Any, graph_module: torch.fx.GraphModule) -> PassResult:
    return PassResult(graph_module, False)
