"""Keeps the assertions of a trace, finds them in its graph and says what they assert."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.symbolic_shapes import (
    _has_uninterpretable_sympy_function,
    free_unbacked_symbols,
)

from polystate.errors import UnsupportedError
from polystate.export.graph.scalars import Scalars
from polystate.export.graph.sizes import shape_environment
from polystate.export.graph.sources import is_user_code
from polystate.export.tracing.eager_checks import assert_eager_checks

aten = torch.ops.aten

_SCALAR_ASSERTS = {aten._assert_scalar.default}
_TENSOR_ASSERTS = {aten._assert_async.default, aten._assert_async.msg}
_RANGES = {aten.sym_constrain_range.default, aten.sym_constrain_range_for_size.default}

# Asserts that a tensor has the traced type and device, which the input's types already imply.
_IMPLIED = {aten._assert_tensor_metadata.default}

_GENERATED_MESSAGE = re.compile(
    r"Runtime assertion failed for expression (?P<text>.*) on node '.*'"
)

# The name of one of PyTorch's symbols, which says nothing to a user.
_SYMBOL = re.compile(r"\b(u|s|zuf|zf)\d+\b")


@contextlib.contextmanager
def recorded_assertions() -> Iterator[None]:
    """Record the user's assertions on values in graphs that are traced inside the block.

    torch.export adds conditions of ``torch._check`` to a graph when the trace is over, in a
    simplified form and without their messages. It silently leaves out those on floats that are not
    strict (``<=``), those that mix floats and integers, and in branches every
    ``torch._assert_async`` without a message.
    """
    kept = torch.fx.node._side_effectful_functions | {aten._assert_async.default}
    with (
        mock.patch.object(torch, "_check_with", _recording(torch._check_with)),
        mock.patch.object(torch.fx.node, "_side_effectful_functions", kept),
    ):
        yield


def _recording(check: Callable[..., None]) -> Callable[..., None]:
    def record_and_check(error_type: Any, condition: Any, message: Any) -> None:
        if _is_on_values(condition) and _called_by_user():
            aten._assert_scalar.default(condition, _message_text(message))
            _keep_last_assertion()
        check(error_type, condition, message)

    return record_and_check


def _keep_last_assertion() -> None:
    """Stop torch.export from replacing the assertion that was recorded last by one of its own."""
    mode = get_proxy_mode()
    if mode is not None:
        node = next(reversed(mode.tracer.graph.nodes))
        node.meta["_fx_runtime_assert_preserve"] = True


def _is_on_values(condition: Any) -> bool:
    return isinstance(condition, torch.SymBool) and bool(free_unbacked_symbols(condition.node.expr))


def _called_by_user() -> bool:
    """Tell whether the caller of ``torch._check`` is the user and not PyTorch."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == torch.__file__:
        frame = frame.f_back
    return is_user_code(frame.f_code.co_filename)


def _message_text(message: Any) -> str:
    if not callable(message):
        return ""
    try:
        return str(message())
    except Exception:  # the message formats a value that the trace does not have
        return ""


def secure_assertions(exported: ExportedProgram) -> None:
    """Bring a program, as torch.export gave it, to a form that keeps its assertions from here on.

    ``run_decompositions`` drops assertions on tensors that have no message; they get an empty one.
    Operators whose own checks get lost on the way get assertions.

    Raises
    ------
    UnsupportedError
        When torch.export left out a condition.
    """
    for module in _graph_modules(exported):
        for node in module.graph.find_nodes(op="call_function", target=aten._assert_async.default):
            node.target = aten._assert_async.msg
            node.args = (*node.args, "")
        assert_eager_checks(module.graph)
        module.recompile()
    _refuse_missing(exported)


def _graph_modules(exported: ExportedProgram) -> list[GraphModule]:
    """List the graphs of a program, those of its branches included."""
    return [m for m in exported.graph_module.modules() if isinstance(m, GraphModule)]


def _refuse_missing(exported: ExportedProgram) -> None:
    environment = shape_environment(exported)
    if environment is None:
        return
    kept = {
        condition
        for module in _graph_modules(exported)
        for _, condition in _traced_conditions(module.graph)
    }
    for asserted in environment.deferred_runtime_asserts.values():
        for condition in (each.expr for each in asserted):
            if _is_left_out(condition) and condition not in kept:
                raise UnsupportedError(
                    f"torch.export leaves out the condition '{condition}'; compute it as a tensor "
                    "and pass that to torch._assert_async"
                )


def _traced_conditions(graph: Graph) -> Iterator[tuple[Node, sympy.Basic]]:
    """List assertions on numbers with what they assert in PyTorch's symbols."""
    for node in graph.find_nodes(op="call_function", target=aten._assert_scalar.default):
        condition = node.args[0]
        value = condition.meta.get("val") if isinstance(condition, Node) else None
        if isinstance(value, torch.SymBool):
            yield node, value.node.expr


def _is_left_out(condition: sympy.Basic) -> bool:
    """Tell whether torch.export would not add a condition to the graph by itself."""
    limits_a_float = (
        isinstance(condition, sympy.LessThan | sympy.GreaterThan)
        and any(side.is_number for side in condition.args)
        and any(isinstance(side, sympy.Symbol) and not side.is_integer for side in condition.args)
    )
    return limits_a_float or _has_uninterpretable_sympy_function(condition)


@dataclass(frozen=True)
class Assertion:
    """What one node of a graph asserts.

    Attributes
    ----------
    condition
        A condition on numbers, or a tensor all of whose elements must be true.
    message
        The user's, empty where there is none.
    """

    node: Node
    condition: sympy.Basic | Node
    message: str


def user_messages(exported: ExportedProgram) -> dict[str, str]:
    """Map conditions to the messages that the user gave them; a decomposition loses these.

    The conditions are written as PyTorch's messages write them.
    """
    messages = {}
    for module in _graph_modules(exported):
        for node, condition in _traced_conditions(module.graph):
            message = str(node.args[1])
            if not _GENERATED_MESSAGE.match(message):
                messages[str(condition)] = message
    return messages


def find_assertions(
    graph: Graph, scalars: Scalars, messages: Mapping[str, str]
) -> Iterator[Assertion]:
    """List the assertions of a graph, without those of its branches.

    Parameters
    ----------
    messages
        The user's, see `user_messages`.

    Raises
    ------
    UnsupportedError
        For assertions of a kind that is not known here.
    """
    for node in graph.nodes:
        if node.target in _SCALAR_ASSERTS:
            condition, message = node.args
            yield Assertion(node, scalars.read(condition), _for_users(message, messages))
        elif node.target in _TENSOR_ASSERTS:
            condition, *given = node.args
            yield Assertion(node, condition, "".join(given))
        elif node.target in _RANGES:
            yield Assertion(node, _range(node, scalars), "")
        elif _is_unknown(node):
            raise UnsupportedError(f"the assertion '{node.target}' cannot be checked at run time")


def _for_users(message: str, messages: Mapping[str, str]) -> str:
    """Give the user's message instead of PyTorch's, unless it shows symbols instead of values."""
    generated = _GENERATED_MESSAGE.match(message)
    if generated:
        message = messages.get(generated["text"], "")
    return "" if _SYMBOL.search(message) else message


def erase_implied(graph: Graph) -> None:
    """Remove assertions that the types of the inputs imply."""
    for node in list(graph.nodes):
        if node.target in _IMPLIED:
            graph.erase_node(node)


def _range(node: Node, scalars: Scalars) -> sympy.Basic:
    """Read ``sym_constrain_range(size, min=..., max=...)``; a size is not negative either."""
    number = scalars.read(node.args[0])
    low, high = node.kwargs.get("min"), node.kwargs.get("max")
    if low is None and node.target == aten.sym_constrain_range_for_size.default:
        low = 0
    limits = [] if low is None else [sympy.Ge(number, low)]
    return sympy.And(*limits, *([] if high is None else [sympy.Le(number, high)]))


def _is_unknown(node: Node) -> bool:
    name = str(node.target)
    return (
        node.op == "call_function"
        and ("assert" in name or "sym_constrain" in name)
        and node.target not in _IMPLIED
    )
