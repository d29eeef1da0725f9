"""Keeps what an export did on the way: graphs of each stage, memory plan, ETRecord."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polystate.errors import IoError
from polystate.export.lowering.lower import Lowered

_ARENAS = {1: "activations", 2: "state"}


@dataclass(frozen=True)
class DebugFolder:
    """Where an export keeps what it did."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> DebugFolder:
        """Makes the folder, early: IoError where that is not possible."""
        with _io_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def write(self, lowered: Lowered) -> None:
        """Writes ``<method>/<stage>.txt``, ``memory_plan.json`` and ``etrecord.bin``.

        ExecuTorch's Inspector reads the last of these. IoError when something cannot be written.
        """
        with _io_errors(self.path):
            for method, stages in lowered.graphs.items():
                folder = self.path / method
                folder.mkdir(exist_ok=True)
                for stage, graph in stages.items():
                    (folder / f"{stage}.txt").write_text(graph, encoding="utf-8")
            plan = json.dumps(_memory_plan(lowered), indent=2)
            (self.path / "memory_plan.json").write_text(plan + "\n", encoding="utf-8")
            lowered.program.get_etrecord().save(str(self.path / "etrecord.bin"))


@contextlib.contextmanager
def _io_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IoError(f"debug_dir '{path}' cannot be written: {error}") from error


def _memory_plan(lowered: Lowered) -> dict[str, Any]:
    """For each method, the bytes of its arenas and where each planned tensor lies."""
    plans: dict[str, Any] = {}
    for name in lowered.graphs:
        graph_module = lowered.program.exported_program(name).graph_module
        sizes = graph_module.meta["non_const_buffer_sizes"]
        tensors = []
        for node in graph_module.graph.nodes:
            spec = node.meta.get("spec")
            if getattr(spec, "mem_offset", None) is not None:
                tensors.append(
                    {
                        "node": node.name,
                        "arena": _ARENAS.get(spec.mem_id, str(spec.mem_id)),
                        "offset": spec.mem_offset,
                        "bytes": spec.allocated_memory,
                        "lifetime": list(spec.lifetime),
                    }
                )
        arenas = {_ARENAS[i]: size for i, size in enumerate(sizes) if i in _ARENAS}
        plans[name] = {"arenas": arenas, "tensors": tensors}
    return plans
