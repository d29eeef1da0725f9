"""What a comparison found, as data and as text."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polystate.export.comparing.differences import Difference
from polystate.export.comparing.losses import Loss
from polystate.export.verification.tolerances import Tolerance

STAGES = ("exported", "lowered", "finished")


@dataclass(frozen=True)
class Row:
    """One value of a call, at each stage.

    Attributes
    ----------
    value
        ``"layer"`` for what a layer gives to the next, or which result, state or written input of
        the method it is: ``"output 0"``, ``"state 'total'"``, ``"input 'x'"``.
    layer, kind
        The path of the module whose call computes it, and its class; empty for the method's own.
    node
        Its name in the exported graph; empty where no node computes it.
    line
        The user's line, with path and number; empty where it is not known.
    reference
        What the stages are compared with: ``"eager"``, or ``"exported"`` inside of a module, where
        eager PyTorch does not show it.
    tolerance
        The relative and the absolute one, as docs/verification.md has them.
    stages
        How far the value is from the reference, by stage: ``"exported"`` (the traced graph),
        ``"lowered"`` (after the backend's passes, run by PyTorch), ``"finished"`` (by the engine;
        results and state are the artifact's own).
    """

    method: str
    value: str
    layer: str
    kind: str
    node: str
    line: str
    reference: str
    tolerance: Tolerance
    stages: Mapping[str, Difference]

    @property
    def beyond(self) -> str:
        """The first stage at which it is beyond rounding; empty: none."""
        return next((s for s in STAGES if s in self.stages and self.stages[s].beyond), "")


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    backend, quantization
        What the artifact was exported with.
    versions
        Of the packages that exported it.
    rows
        By method, in the order in which the values are computed.
    losses
        What each quantized layer loses, the largest loss first; empty for others.
    notes
        What else is to be known, in sentences.
    """

    backend: str
    quantization: str | None
    versions: Mapping[str, str]
    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> Row | None:
        """The first value that is beyond rounding; None: there is none."""
        return next((row for row in self.rows if row.beyond), None)

    @property
    def agrees(self) -> bool:
        """Whether no value is beyond rounding."""
        return self.first is None

    def to_json(self) -> str:
        """The same as JSON; a number that is not finite is null."""
        rows = [{**dataclasses.asdict(row), "beyond": row.beyond or None} for row in self.rows]
        first = self.first
        data = {
            "backend": self.backend,
            "quantization": self.quantization,
            "versions": dict(self.versions),
            "agrees": self.agrees,
            "first": None if first is None else self.rows.index(first),
            "rows": rows,
            "losses": [dataclasses.asdict(loss) for loss in self.losses],
            "notes": list(self.notes),
        }
        return json.dumps(_finite(data), indent=2)

    def __str__(self) -> str:
        made = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        with_what = f", quantization {self.quantization}" if self.quantization else ""
        lines = [f"exported for {self.backend}{with_what}, by {made}", *self.notes, ""]
        lines += _first_told(self.first)
        for method in dict.fromkeys(row.method for row in self.rows):
            lines += [
                "",
                method or "state",
                *_table([row for row in self.rows if row.method == method]),
            ]
        if self.losses:
            lines += ["", "lost by quantized layers, alone and up to there", *_lost(self.losses)]
        return "\n".join(lines)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _first_told(row: Row | None) -> list[str]:
    if row is None:
        return ["no value is beyond rounding"]
    where = f" of '{row.layer}' ({row.kind})" if row.layer else ""
    lines = [
        f"first beyond rounding: {row.value}{where} in '{row.method}', {row.beyond}"
        if row.method
        else f"first beyond rounding: {row.value}"
    ]
    lines += [f"  at {row.line}"] if row.line else []
    return [*lines, f"  {row.stages[row.beyond].first}"]


def _table(rows: Sequence[Row]) -> list[str]:
    """Largest differences, absolute and relative; ``!`` marks what is beyond rounding."""
    names = [" ".join(filter(None, (row.value, row.layer, row.node))) for row in rows]
    width = max(map(len, names))
    lines = [f"  {'':{width}}  " + "  ".join(f"{stage:>20}" for stage in STAGES)]
    for name, row in zip(names, rows, strict=True):
        cells = "  ".join(f"{_cell(row.stages.get(stage)):>20}" for stage in STAGES)
        lines.append(f"  {name:{width}}  {cells}")
    return lines


def _cell(difference: Difference | None) -> str:
    if difference is None:
        return "-"
    mark = "! " if difference.beyond else ""
    return f"{mark}{difference.absolute:.2g} ({difference.relative:.2g})"


def _lost(found: Sequence[Loss]) -> list[str]:
    width = max(len(loss.layer) for loss in found)
    return [
        f"  {loss.layer:{width}}  {loss.alone:8.3%}  {loss.reached:8.3%}  {loss.method}"
        + (f"  {loss.line}" if loss.line else "")
        for loss in found
    ]
