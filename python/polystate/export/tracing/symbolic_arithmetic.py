"""Remembers what PyTorch computes with sizes that vary.

For each tensor of a graph, in each pass, PyTorch computes some twenty products, sums and
comparisons of symbolic sizes: a seventh of the time of an export. Nearly all of them it has
computed before, and what they give depends on the two expressions alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from torch.fx.experimental import _config
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.sym_node import _NO_HINT, SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

OPERATIONS = ("add", "sub", "mul", "eq", "ne", "ge", "gt", "le", "lt", "sym_max", "sym_min")

_Operation = Callable[[SymNode, Any], SymNode]


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Computes with the sizes of an environment once, in the block."""
    results: dict[ShapeEnv, dict[Any, SymNode]] = {}
    with contextlib.ExitStack() as replaced:
        if not _config.translation_validation:  # which notes each computation
            for name in OPERATIONS:
                operation = _remembering(name, getattr(SymNode, name), results)
                replaced.enter_context(mock.patch.object(SymNode, name, operation))
        yield


def _remembering(
    name: str, compute: _Operation, results: dict[ShapeEnv, dict[Any, SymNode]]
) -> _Operation:
    def operation(a: SymNode, b: Any) -> SymNode:
        environment = a.shape_env
        # A trace that notes computations with sizes has to see each.
        if environment is None or type(b) is not SymNode or get_proxy_mode():
            return compute(a, b)
        known = results.get(environment)
        if known is None:
            known = results[environment] = {}
        key = (name, a._expr, b._expr, a.pytype, b.pytype, a._hint, b._hint)
        result = known.get(key)
        if result is None:
            result = known[key] = compute(a, b)
        return _copied(result, environment)

    return operation


def _copied(node: SymNode, environment: ShapeEnv) -> SymNode:
    """Another object of the same value: a trace tells computations by the objects they gave."""
    hint = _NO_HINT if node._hint is None else node._hint
    summation = node._optimized_summation
    return SymNode(node._expr, environment, node.pytype, hint, optimized_summation=summation)
