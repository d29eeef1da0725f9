"""What a lowering leaves behind, whichever engine it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from polystate.artifact import FileContent
from polystate.export.lowering.in_place import Updates
from polystate.export.lowering.planned_graph import Part


@dataclass(frozen=True)
class Lowered:
    """A program of all methods for one engine, and what became of each method.

    Attributes
    ----------
    engine, file
        Which engine runs it, and the name of its file, as the manifest says them.
    content
        What is in that file.
    operators, delegates
        What the engine must have to run it.
    graphs
        By method and stage, as text; empty where they were not kept.
    memory_plan, etrecords
        Of ExecuTorch: for each method the bytes of its arenas and where each tensor lies; what
        writes the record for its Inspector to a path.
    parts
        The graph of each method as it runs, where they were kept.
    """

    engine: str
    file: str
    content: FileContent
    updates: Mapping[str, Updates]
    activation_bytes: Mapping[str, int]
    operators: list[str]
    delegates: list[str]
    graphs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    memory_plan: Mapping[str, Any] | None = None
    etrecords: Mapping[str, Callable[[str], None]] = field(default_factory=dict)
    parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)


def readable(program: ExportedProgram) -> str:
    """A graph and its signature as text."""
    return f"{program.graph}\n\n{program.graph_signature}\n"
