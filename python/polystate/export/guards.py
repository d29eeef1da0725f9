"""What a trace assumed about sizes, as conditions that the runtime checks."""

from __future__ import annotations

from collections.abc import Iterator

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from polystate.artifact.manifest import Guard
from polystate.errors import ExportError
from polystate.export.expressions import to_text
from polystate.export.sizes import Sizes, shape_environment, to_sympy
from polystate.export.sources import source_of, source_of_guard

aten = torch.ops.aten

_SQUEEZES = {aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims}


def guard(condition: sympy.Basic, sizes: Sizes, source: str) -> Guard | None:
    """Write a condition on sizes as a guard; None where it holds for all sizes in the ranges.

    Raises
    ------
    ExportError
        For a condition that never holds.
    UnsupportedError
        For one that cannot be written.
    """
    if sizes.always(condition):
        return None
    if condition == sympy.false:
        raise ExportError(f"a condition on sizes never holds{f' ({source})' if source else ''}")
    expression = sizes.expression(condition)
    return Guard(expression, to_text(expression), source)


def traced_guards(exported: ExportedProgram, sizes: Sizes) -> list[Guard]:
    """List what torch.export assumed: branches taken, divisibility, equalities, bounds.

    Raises
    ------
    UnsupportedError
        For an assumption that cannot be written.
    """
    found = (guard(condition, sizes, source) for condition, source in _assumed(exported))
    unique = {g.text: g for g in reversed([g for g in found if g is not None])}
    return list(reversed(unique.values()))


def _assumed(exported: ExportedProgram) -> Iterator[tuple[sympy.Basic, str]]:
    environment = shape_environment(exported)
    if environment is None:
        return
    for assumed in environment.guards:
        # Equal and derived sizes are replaced by what they are equal to, as in the shapes of the
        # inputs, which the runtime compares.
        yield environment.replace(assumed.expr), source_of_guard(assumed.sloc)
    for node in exported.graph.nodes:
        if node.target in _SQUEEZES:
            for size in _kept_by_squeeze(node):
                yield sympy.Ne(to_sympy(size), 1), source_of([node])


def _kept_by_squeeze(node: Node) -> Iterator[torch.SymInt]:
    """Give the sizes that the trace took to be other than 1, without a guard."""
    source, *chosen = node.args
    assert isinstance(source, Node)
    shape = source.meta["val"].shape
    for dimension in pytree.tree_leaves(chosen) if chosen else range(len(shape)):
        if isinstance(shape[dimension], torch.SymInt):
            yield shape[dimension]
