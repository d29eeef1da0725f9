"""Stops PyTorch from printing graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch.export._trace
import torch.fx.graph_module

from polystate.quiet import is_verbose


@contextlib.contextmanager
def no_printed_graphs() -> Iterator[None]:
    """Stops PyTorch from printing graphs that could not be traced whole, or that fail."""
    if is_verbose():
        yield
        return
    with contextlib.ExitStack() as patches:
        for module in (torch.export._trace, torch.fx.graph_module):
            silent = mock.patch.object(module, "print", lambda *_, **__: None, create=True)
            patches.enter_context(silent)
        yield
