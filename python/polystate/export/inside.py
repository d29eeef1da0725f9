"""What is inside of a method that was exported, for those who look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polystate.artifact.manifest import Method, State
from polystate.export.lowering.planned_graph import Part
from polystate.export.program import Program


@dataclass(frozen=True)
class Inside:
    """A method of a program.

    Attributes
    ----------
    method
        Its contract, and what it does to the state.
    state
        The state of the whole program, which `method` has indices of.
    parts
        Its graph as it runs.
    """

    method: Method
    state: Sequence[State]
    parts: Sequence[Part]


def inside_of(program: Program, name: str) -> Inside:
    """What is inside of a program's method."""
    return Inside(program.methods[name], program.manifest.state, program.parts(name))
