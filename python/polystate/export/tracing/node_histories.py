"""Lets the nodes of graphs share their histories, and records no stack traces of inputs.

PyTorch notes for each node of a graph which nodes of earlier graphs it comes from, and copies the
whole tree of these notes each time a graph is run: a tenth of the time of an export of some hundred
operators. Nobody changes a note, so that the trees may have branches in common.

It also records a stack trace for each node, which takes a thirtieth of the time for the inputs of
graphs alone: there is one for each weight, and its trace shows PyTorch's own code.
"""

from __future__ import annotations

import contextlib
import copy
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

from torch.fx import Tracer, traceback


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Lets graphs that are made within the block do so."""
    copying = types.SimpleNamespace(copy=copy.copy, deepcopy=list)
    create = Tracer.create_args_for_root

    def create_without_lines(self: Tracer, *args: Any) -> tuple[Any, list[Any]]:
        with mock.patch.object(self, "record_stack_traces", False):
            return create(self, *args)

    with (
        mock.patch.object(traceback, "copy", copying),
        mock.patch.object(Tracer, create.__name__, create_without_lines),
    ):
        yield
