"""The manifest as data: what the exporter fills in and C++ checks (docs/artifact.md)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

FORMAT_VERSION = 1

# An integer, a symbol's name, or [operator, operands...].
Expression = int | str | list[Any]

Constant = bool | int | float | str


@dataclass(frozen=True)
class Symbol:
    """A dynamic size, read from one input as ``(size of the dimension - offset) / scale``."""

    name: str
    input: int
    dimension: int
    min: int
    max: int
    scale: int = 1
    offset: int = 0


@dataclass(frozen=True)
class ValueRange:
    """Inclusive limits on the elements of an integer input, and why they hold."""

    min: Expression | None
    max: Expression | None
    reason: str


@dataclass(frozen=True)
class Input:
    """One tensor that a caller passes."""

    name: str
    dtype: str
    shape: list[Expression]
    values: list[ValueRange] = field(default_factory=list)
    written_from: int | None = None


@dataclass(frozen=True)
class Output:
    """One tensor that a call returns; a size is None where only the run decides."""

    name: str
    dtype: str
    shape: list[Expression | None]
    program_output: int


@dataclass(frozen=True)
class Guard:
    """A condition on sizes that the trace relied on."""

    condition: Expression
    text: str
    source: str = ""


@dataclass(frozen=True)
class Check:
    """A condition on values that operators inside the program test."""

    id: int
    text: str
    source: str = ""


@dataclass(frozen=True)
class StateWrite:
    """How a method updates one state, and why so."""

    state: int
    update: Literal["in_place", "written_back"]
    reason: str


@dataclass(frozen=True)
class Method:
    """One entry point."""

    name: str
    symbols: list[Symbol]
    inputs: list[Input]
    outputs: list[Output]
    guards: list[Guard]
    checks: list[Check]
    reads: list[int]
    writes: list[StateWrite]
    atomic: bool
    activation_bytes: int


@dataclass(frozen=True)
class State:
    """A buffer that some method mutates."""

    name: str
    dtype: str
    shape: list[int]
    initial: Literal["zeros", "stored"]
    preview: str


@dataclass(frozen=True)
class Program:
    """The file that the engine runs, and what it needs of the engine."""

    engine: str
    file: str
    backend: str
    quantization: str | None
    operators: list[str]
    delegates: list[str]


@dataclass(frozen=True)
class Golden:
    """Recorded calls, replayed in order from the initial state."""

    file: str
    calls: list[str]
    relative_tolerance: float
    absolute_tolerance: float


@dataclass(frozen=True)
class Manifest:
    """Everything an artifact says of itself."""

    versions: dict[str, str]
    program: Program
    files: dict[str, int]
    constants: dict[str, Constant]
    state: list[State]
    methods: list[Method]
    golden: Golden | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the manifest in the form of docs/artifact.md."""
        return {"format": "polystate", "format_version": FORMAT_VERSION, **dataclasses.asdict(self)}
