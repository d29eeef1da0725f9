from __future__ import annotations

import pytest

from polystate.artifact.manifest import (
    Check,
    Golden,
    Guard,
    Input,
    Manifest,
    Method,
    Output,
    Program,
    State,
    StateWrite,
    Symbol,
    ValueRange,
)


@pytest.fixture
def manifest() -> Manifest:
    """Every key that the format has, in use."""
    program = Program(
        engine="executorch",
        file="model.pte",
        backend="xnnpack",
        quantization=None,
        operators=["aten::add.out"],
        delegates=["XnnpackBackend"],
    )
    write = Method(
        name="set_cache",
        symbols=[Symbol("batch", input=0, dimension=0, min=1, max=10)],
        inputs=[
            Input("data", "float32", ["batch", ["*", 2, "batch"], 20]),
            Input("row", "int64", [], [ValueRange(0, ["+", "batch", -1], "indexes 'cache'")]),
            Input("out", "float32", ["batch"], written_from=0),
        ],
        outputs=[Output("0", "float32", ["batch", None], program_output=1)],
        guards=[Guard(["==", ["%", "batch", 2], 0], "batch % 2 == 0", "model.py:12")],
        checks=[Check(0, "k < 4", "model.py:13")],
        reads=[0],
        writes=[StateWrite(0, "in_place", "nothing reads the old value later")],
        atomic=True,
        checks_first=True,
        activation_bytes=64,
    )
    return Manifest(
        versions={"polystate": "0.1.0"},
        program=program,
        files={},
        constants={"max_length": 64, "scale": 0.5, "greedy": True, "language": "français"},
        state=[State("cache", "float32", [10, 20], "zeros", "0")],
        methods=[write],
        golden=Golden("golden.npz", ["set_cache"], 1e-5, 1e-6),
    )


@pytest.fixture
def files() -> dict[str, bytes]:
    return {"model.pte": b"program" * 1000, "golden.npz": b"calls"}
