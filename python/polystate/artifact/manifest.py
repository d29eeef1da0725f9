"""The manifest as data: what the exporter fills in and C++ checks (docs/artifact.md)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polystate.artifact.expressions import Expression, to_text

FORMAT_VERSION = 1

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

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{_shape_text(self.shape)}"


@dataclass(frozen=True)
class Output:
    """One tensor that a call returns; a size is None where only the run decides."""

    name: str
    dtype: str
    shape: list[Expression | None]
    program_output: int

    def __str__(self) -> str:
        return f"{self.dtype}{_shape_text(self.shape)}"


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
    checks_first: bool
    activation_bytes: int

    def __str__(self) -> str:
        """Write the method as a signature: ``step(x: float32[batch, 4]) -> (int64[])``."""
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"{self.name}({inputs}) -> ({outputs})"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Method:
        """Read a method of a valid manifest."""
        parts: dict[str, Any] = {
            "symbols": [Symbol(**symbol) for symbol in value["symbols"]],
            "inputs": [_input(item) for item in value["inputs"]],
            "outputs": [Output(**output) for output in value["outputs"]],
            "guards": [Guard(**guard) for guard in value["guards"]],
            "checks": [Check(**check) for check in value["checks"]],
            "writes": [StateWrite(**write) for write in value["writes"]],
        }
        return cls(**{**value, **parts})


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

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Manifest:
        """Read a manifest that C++, or the schema, found valid."""
        golden = value["golden"]
        return cls(
            versions=value["versions"],
            program=Program(**value["program"]),
            files=value["files"],
            constants=value["constants"],
            state=[State(**state) for state in value["state"]],
            methods=[Method.from_json(method) for method in value["methods"]],
            golden=None if golden is None else Golden(**golden),
        )


def _shape_text(shape: Sequence[Expression | None]) -> str:
    return f"[{', '.join('?' if size is None else to_text(size) for size in shape)}]"


def _input(value: dict[str, Any]) -> Input:
    return Input(**{**value, "values": [ValueRange(**limits) for limits in value["values"]]})
