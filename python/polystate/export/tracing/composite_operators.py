"""Finds PyTorch's composite operators once an export, not again for every graph.

``ExportedProgram.run_decompositions`` looks all of them up in every namespace, and registers
kernels for each, thousands of times in one lowering: a fifth of the time of a small export.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._export import utils
from torch._ops import OperatorBase


@contextlib.contextmanager
def found_once() -> Iterator[None]:
    """Does so within the block.

    An operator that a library defines meanwhile is not missed: who calls it makes it known.
    """
    utils._materialize_cpp_cia_ops()
    with (
        mock.patch.object(utils, "_materialize_cpp_cia_ops", lambda: None),
        mock.patch.object(OperatorBase, "py_impl", _py_impl(OperatorBase.py_impl)),
    ):
        yield


def _py_impl(original: Any) -> Any:
    """Does what `original` does, which evaluates its annotations at every call."""

    def py_impl(self: OperatorBase, key: Any) -> Callable[[Any], Any]:
        is_usual = isinstance(key, torch._C.DispatchKey) and key != torch._C.DispatchKey.Python
        if not is_usual or key in self.py_kernels:
            return original(self, key)  # type: ignore[no-any-return]

        def register(kernel: Any) -> Any:
            self.py_kernels[key] = kernel
            self._dispatch_cache.clear()
            return kernel

        return register

    return py_impl
