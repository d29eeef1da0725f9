"""What a trace assumed about sizes, as conditions that the runtime checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from polystate.artifact.expressions import to_text
from polystate.artifact.manifest import Guard
from polystate.errors import ExportError, UnsupportedError
from polystate.export.contract.trial import Trial
from polystate.export.graph.sizes import Sizes, shape_environment, to_sympy
from polystate.export.graph.sources import source_of, source_of_guard

aten = torch.ops.aten

_SQUEEZES = {
    operator
    for packet in (aten.squeeze, aten.squeeze_copy)
    for operator in (packet.default, packet.dim, packet.dims)
}


# Guards with the conditions that they state, by their texts.
_Found = dict[str, tuple[Guard, sympy.Basic]]


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
    if condition.free_symbols - sizes.names.keys():
        raise UnsupportedError(
            "PyTorch fixes a size that dynamic_shapes lets vary, or a part of it "
            f"({f'{source}: ' if source else ''}{condition}); export it with that size alone, and "
            "one method for each other"
        )
    expression = sizes.expression(condition)
    return Guard(expression, to_text(expression), source)


def traced_guards(
    functional: ExportedProgram, sizes: Sizes, trial: Trial | None = None
) -> list[Guard]:
    """List what the trace assumed: branches taken, divisibility, equalities, bounds.

    PyTorch also compares sizes with one another to choose between forms of equal results, in
    decomposing a program into fewer operators and wherever it tells size 1 from others. `trial`
    finds such guards, which are left out; but ``squeeze`` of a size that varies is another thing
    for the lowered program, whose results have fixed ranks.

    Raises
    ------
    UnsupportedError
        For an assumption that cannot be written.
    """
    found: _Found = {}
    for assumption in _assumed(functional, trial):
        assumed = guard(assumption.condition, sizes, assumption.source)
        if assumed is None or assumed.text in found:
            continue
        is_doubtful = assumption.origin == "decomposition" or (
            assumption.origin == "export" and sizes.above_one().always(assumption.condition)
        )
        if not (is_doubtful and _is_idle(assumed, found, sizes, trial)):
            found[assumed.text] = (assumed, assumption.condition)
    return _without_implied(list(found.values()), sizes)


def _is_idle(assumed: Guard, found: _Found, sizes: Sizes, trial: Trial | None) -> bool:
    if trial is None:
        return False
    given = [other.condition for other, _ in found.values()]
    return trial.holds_without(assumed.condition, given, sizes)


def _without_implied(guards: list[tuple[Guard, sympy.Basic]], sizes: Sizes) -> list[Guard]:
    """Leave out guards that others imply; short ones stay."""
    kept = [g for g, _ in guards]
    for candidate, condition in sorted(guards, key=lambda g: len(g[0].text), reverse=True):
        others = [g.condition for g in kept if g is not candidate]
        if sizes.always(condition, given=others):
            kept = [g for g in kept if g is not candidate]
    return kept


@dataclass(frozen=True)
class _Assumption:
    condition: sympy.Basic
    source: str
    origin: Literal["export", "decomposition", "squeeze"]


def _assumed(functional: ExportedProgram, trial: Trial | None) -> Iterator[_Assumption]:
    environment = shape_environment(functional)
    if environment is None:
        return
    for i, assumed in enumerate(environment.guards):
        # Equal and derived sizes are replaced by what they are equal to, as in the shapes of the
        # inputs, which the runtime compares.
        condition = environment.replace(assumed.expr)
        is_of_export = trial is None or i < trial.guards_of_export
        origin: Literal["export", "decomposition"] = "export" if is_of_export else "decomposition"
        yield _Assumption(condition, source_of_guard(assumed.sloc), origin)
    for node in functional.graph.nodes:
        if node.target in _SQUEEZES:
            for size in _kept_by_squeeze(node):
                yield _Assumption(sympy.Ne(to_sympy(size), 1), source_of([node]), "squeeze")


def _kept_by_squeeze(node: Node) -> Iterator[torch.SymInt]:
    """Give the sizes that the trace took to be other than 1, without a guard."""
    source, *chosen = node.args
    assert isinstance(source, Node)
    shape = source.meta["val"].shape
    if not shape:
        return  # a tensor without dimensions takes dimension 0, and keeps nothing
    for dimension in pytree.tree_leaves(chosen) if chosen else range(len(shape)):
        if isinstance(shape[dimension], torch.SymInt):
            yield shape[dimension]
