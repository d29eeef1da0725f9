"""What torch.export assumed of sizes, kept from what later passes would add to it.

Every pass that runs a graph on its symbolic sizes may add guards, narrow ranges and replace sizes
by numbers, for the example's sake and without anyone checking them. The trace's own assumptions
were checked, against the user's ranges; they are the contract, and memory is planned by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from polystate.export.graph.sizes import shape_environment


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
