"""Lets the nodes of graphs share their histories.

PyTorch notes for each node of a graph which nodes of earlier graphs it comes from, and copies the
whole tree of these notes each time a graph is run: a tenth of the time of an export of some hundred
operators. Nobody changes a note, so that the trees may have branches in common.
"""

from __future__ import annotations

import contextlib
import copy
import types
from collections.abc import Iterator
from unittest import mock

from torch.fx import traceback


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Lets graphs that are made within the block do so."""
    copying = types.SimpleNamespace(copy=copy.copy, deepcopy=list)
    with mock.patch.object(traceback, "copy", copying):
        yield
