"""Finds and overrides PyTorch's composite operators once an export, not again for every graph.

``ExportedProgram.run_decompositions`` looks all of them up in every namespace, and registers some
twenty kernels for each of several hundred, three or four times a method: half of the time of a
small export.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch._export import utils
from torch._ops import OperatorBase
from torch._subclasses import fake_impls
from torch.export import decomp_utils, exported_program

Kernels = dict[Any, Any]

_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_AUTOGRAD = torch._C.DispatchKey.Autograd

# Computes operators on fake tensors.
_FAKES: dict[Any, Callable[..., Any]] = fake_impls.op_implementations_dict


@contextlib.contextmanager
def found_once() -> Iterator[None]:
    """Does so within the block.

    An operator that a library defines meanwhile is not missed: who calls it makes it known.
    """
    utils._materialize_cpp_cia_ops()
    collected = _Collected()
    is_preservable = functools.cache(utils._is_preservable_cia_op)
    with (
        mock.patch.object(utils, "_materialize_cpp_cia_ops", lambda: None),
        mock.patch.object(OperatorBase, "py_impl", _py_impl(OperatorBase.py_impl)),
        mock.patch.object(exported_program, "_override_composite_implicit_decomp", _overridden),
        mock.patch.object(exported_program, "_collect_all_valid_cia_ops", collected),
        mock.patch.object(exported_program, "_is_preservable_cia_op", is_preservable),
        mock.patch.object(decomp_utils, "_collect_all_valid_cia_ops", collected),
    ):
        yield


@contextlib.contextmanager
def overridden(kernels: Mapping[OperatorBase, Callable[..., Any]]) -> Iterator[None]:
    """Lets composite operators be these functions while a graph is traced within the block."""
    before = {op: dict(op.py_kernels) for op in kernels}
    try:
        for op, kernel in kernels.items():
            _exchange(op, {**before[op], _COMPOSITE: kernel, _AUTOGRAD: kernel})
        yield
    finally:
        for op in kernels:
            _exchange(op, before[op])


class _Collected:
    """The operators that may be preserved; looked up again only when there are others."""

    def __init__(self) -> None:
        self._known = -1
        self._found: frozenset[OperatorBase] = frozenset()

    def __call__(self) -> frozenset[OperatorBase]:
        spaces = (getattr(torch.ops, name) for name in torch.ops._dir)
        known = sum(
            len(space._dir) for space in spaces if isinstance(space, torch._ops._OpNamespace)
        )
        if known != self._known:
            self._found, self._known = frozenset(utils._collect_all_valid_cia_ops()), known
        return self._found


@dataclass(frozen=True)
class _Override:
    """What PyTorch makes of an operator while a graph is decomposed.

    Attributes
    ----------
    before, meanwhile
        The operator's Python kernels; meanwhile there is one more, its decomposition.
    fake
        What computes its results on fake tensors meanwhile.
    """

    before: Kernels
    meanwhile: Kernels
    fake: Callable[..., Any]


class _Overrides:
    """Takes the place of PyTorch's context manager that overrides composite operators.

    What that one does to an operator is remembered, and done again by exchanging tables.
    """

    def __init__(self, override: Callable[..., contextlib.AbstractContextManager[None]]) -> None:
        self._override = override
        self._remembered: dict[OperatorBase, _Override] = {}

    @contextlib.contextmanager
    def __call__(self, decompositions: Mapping[OperatorBase, Any]) -> Iterator[None]:
        overrides = {op: self._of(op) for op in decompositions}
        fakes = {op: each.fake for op, each in overrides.items() if op not in _FAKES}
        try:
            _FAKES.update(fakes)
            for op, override in overrides.items():
                _exchange(op, {**override.meanwhile, _COMPOSITE: decompositions[op]})
            yield
        finally:
            for op, override in overrides.items():
                _exchange(op, override.before)
            for op in fakes:
                del _FAKES[op]

    def _of(self, op: OperatorBase) -> _Override:
        known = self._remembered.get(op)
        if known is None or known.before != op.py_kernels:
            before, registered = dict(op.py_kernels), _FAKES.get(op)
            with self._override({op: None}):
                known = _Override(before, dict(op.py_kernels), _FAKES[op])
            if registered is not None:
                _FAKES[op] = registered  # PyTorch takes away what others registered, too
            self._remembered[op] = known
        return known


def _exchange(op: OperatorBase, kernels: Kernels) -> None:
    op.py_kernels.clear()
    op.py_kernels.update(kernels)
    op._dispatch_cache.clear()


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


_overridden = _Overrides(exported_program._override_composite_implicit_decomp)
