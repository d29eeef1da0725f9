"""Runs ExecuTorch's passes to its edge dialect in two traces of a graph, not in eight.

Each of them traces the whole graph again to replace one kind of operator. Classes that derive from
several of them, in their order, replace all kinds in one trace: a pass hands what it makes of an
operator to the next by ``super()``.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.dim_order_ops_registry import DimOrderOpsMap
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.normalize_transpose_pass import NormalizeTransposePass
from executorch.exir.passes.remove_mixed_type_operators import RemoveMixedTypeOperators
from executorch.exir.passes.replace_aten_with_edge_pass import OpReplacePass
from executorch.exir.passes.replace_broken_ops_with_function_ops_pass import (
    ReplaceBrokenOpsWithFunctionalOpsPass,
)
from executorch.exir.passes.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.sym_to_tensor_pass import SymToTensorPass
from executorch.exir.program import _program
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

aten = torch.ops.aten

_Passes = list[Callable[[GraphModule], PassResult]]


@contextlib.contextmanager
def in_two_traces() -> Iterator[None]:
    """Does so within the block."""
    usual = _program._get_aten_to_edge_passes

    def passes(config: Any) -> tuple[_Passes, _Passes]:
        before, after = usual(config)
        return _fewer(before), after

    with (
        mock.patch.object(_program, usual.__name__, passes),
        mock.patch.object(_program, "ReplaceViewOpsWithViewCopyOpsPass", _NoPass),
        mock.patch.object(_program, "OpReplacePass", _EdgePass),
        mock.patch.object(_program, "MemoryFormatOpsPass", _NoPass),
    ):
        yield


class _UnsafeViewPass(ExportPass):
    """Replaces `_unsafe_view`, which no schema marks as a view, as PyTorch's own pass does."""

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        if op is aten._unsafe_view.default:
            op = aten.view_copy.default
        return super().call_operator(op, args, kwargs, meta)


class _FunctionalPass(
    _UnsafeViewPass,
    NormalizeTransposePass,
    ReplaceBrokenOpsWithFunctionalOpsPass,
    ScalarToTensorPass,
    SymToTensorPass,
):
    """Views as copies, and tensors in place of numbers."""


class _RowMajorPass(MemoryFormatOpsPass):
    """Gives copies an order of dimensions: that of rows, unless they ask for another.

    ExecuTorch's own pass gives them their operand's. That of a tensor without elements may be any,
    and most orders are refused (``AssertionError``).
    """

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        if kwargs.get("memory_format") in (None, torch.preserve_format) and op in DimOrderOpsMap:
            kwargs = {**kwargs, "memory_format": torch.contiguous_format}
        return super().call_operator(op, args, kwargs, meta)


class _EdgePass(RemoveMixedTypeOperators, OpReplacePass, _RowMajorPass):
    """Operators of the edge dialect, of one type each and with orders of dimensions."""


class _NoPass:
    """Takes the place of a pass that one of those above contains."""

    def __call__(self, graph_module: GraphModule) -> PassResult:
        return PassResult(graph_module, False)


_IN_FUNCTIONAL = {kind.__name__ for kind in _FunctionalPass.__bases__}
_IN_EDGE = {kind.__name__ for kind in _EdgePass.__bases__}


def _fewer(passes: _Passes) -> _Passes:
    """The passes without those of `_EdgePass`, and with one in place of some that are in a row."""
    rows = itertools.groupby(passes, lambda each: _name(each) in _IN_FUNCTIONAL)
    joined = ([_FunctionalPass()] if is_in else row for is_in, row in rows)
    return [each for row in joined for each in row if _name(each) not in _IN_EDGE]


def _name(each: Callable[..., Any]) -> str:
    return getattr(each, "__name__", type(each).__name__)
