"""What torch.export assumed of sizes, kept from what later passes would add to it.

Every pass that runs a graph on its symbolic sizes may add guards, narrow ranges and replace sizes
by numbers, for the example's sake and without anyone checking them. The trace's own assumptions
were checked, against the user's ranges; they are the contract, and memory is planned by them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv, StrictMinMaxConstraint

from polystate.export.graph.sizes import always_holds, shape_environment


@dataclass(frozen=True)
class Assumptions:
    """The guards, ranges and replacements of a trace's symbolic sizes."""

    guards: list[Any]
    ranges: dict[Any, Any]
    replacements: dict[Any, Any]

    @staticmethod
    def of(exported: ExportedProgram) -> Assumptions:
        """What is assumed now: to be called before any pass runs."""
        environment = shape_environment(exported)
        if environment is None:
            return Assumptions([], {}, {})
        return Assumptions(
            list(environment.guards),
            dict(environment.var_to_range),
            dict(environment.replacements),
        )

    def restore_ranges(self, program: ExportedProgram) -> None:
        """Undoes what passes did to ranges and replacements since; their own symbols stay."""
        environment = shape_environment(program)
        if environment is None:
            return
        environment.var_to_range.update(self.ranges)
        for symbol in (
            self.ranges.keys() & environment.replacements.keys() - self.replacements.keys()
        ):
            del environment.replacements[symbol]
        environment._update_version_counter()

    def restore(self, program: ExportedProgram) -> None:
        """Undoes all that passes added since."""
        self.restore_ranges(program)
        environment = shape_environment(program)
        if environment is not None:
            environment.guards[:] = self.guards

    def breadth(self) -> tuple[float, int]:
        """How much a trace covers: compares greater for wider ranges, then for fewer guards."""
        widths = (float(r.upper - r.lower + 1) for r in self.ranges.values() if r.is_int)
        return math.prod(widths), -len(self.guards)


@contextlib.contextmanager
def without_idle_guards() -> Iterator[None]:
    """Let torch.export take guards that hold for all sizes that were declared, as it cannot see.

    Such is that a size which is padded to a multiple of 4 is divisible by 4.
    """
    produce_guards: Any = ShapeEnv.produce_guards

    def produce(
        environment: ShapeEnv, placeholders: Sequence[Any], *args: Any, **kwargs: Any
    ) -> Any:
        ranges = _declared_ranges(placeholders, kwargs.get("input_contexts") or ())
        environment.guards[:] = (
            guard for guard in environment.guards if not always_holds(guard.expr, ranges)
        )
        return produce_guards(environment, placeholders, *args, **kwargs)

    with mock.patch.object(ShapeEnv, "produce_guards", produce):
        yield


def _declared_ranges(
    placeholders: Sequence[Any], contexts: Sequence[Any]
) -> dict[sympy.Symbol, tuple[int, int]]:
    """By the symbols of sizes that have a range of their own, not what guards left of it."""
    found = {}
    for placeholder, context in zip(placeholders, contexts, strict=False):
        constraints = getattr(context, "constraint_sizes", ())
        for dimension, constraint in enumerate(constraints):
            size = placeholder.shape[dimension]
            symbol = size.node._expr if isinstance(size, torch.SymInt) else None
            if isinstance(constraint, StrictMinMaxConstraint) and isinstance(symbol, sympy.Symbol):
                low, high = constraint.vr.lower, constraint.vr.upper
                if isinstance(low, sympy.Integer) and isinstance(high, sympy.Integer):
                    found[symbol] = (int(low), int(high))
    return found
