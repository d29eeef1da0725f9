"""Keeps what an export did on the way: graphs of each stage, memory plan, ETRecord."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polystate.errors import IoError
from polystate.export.lowering.lowered import Lowered


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
        """Writes ``<method>/<stage>.txt``, ``<method>/etrecord.bin`` and ``memory_plan.json``.

        ExecuTorch's Inspector reads an ETRecord with a profile of calls of its method; for another
        engine there are only the texts. ExecuTorch cannot write some graphs, such as those with
        constants in branches: then there is ``etrecord.txt``, which says so. IoError when something
        cannot be written.
        """
        with _io_errors(self.path):
            for method, stages in lowered.graphs.items():
                folder = self.path / method
                folder.mkdir(exist_ok=True)
                for stage, graph in stages.items():
                    (folder / f"{stage}.txt").write_text(graph, encoding="utf-8")
            if lowered.memory_plan is not None:
                plan = json.dumps(lowered.memory_plan, indent=2)
                (self.path / "memory_plan.json").write_text(plan + "\n", encoding="utf-8")
            for method, write in lowered.etrecords.items():
                _write_record(self.path / method, write)


def _write_record(folder: Path, write: Callable[[str], None]) -> None:
    try:
        write(str(folder / "etrecord.bin"))
    except OSError:
        raise
    except Exception as error:  # its serialiser raises many kinds
        told = f"ExecuTorch cannot write the ETRecord: {error}\n"
        (folder / "etrecord.txt").write_text(told, encoding="utf-8")


@contextlib.contextmanager
def _io_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IoError(f"debug_dir '{path}' cannot be written: {error}") from error
