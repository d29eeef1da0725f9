"""What the tests of the runtime export and call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch.export import Dim

import polystate as ps

# Runs a program in a process of its own, with its arguments; gives what it prints.
RunPython = Callable[..., str]

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
]  # fmt: skip


class Toy(torch.nn.Module):
    """A running total with a count, and what else the tests call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("scale", torch.tensor([2.0, 3.0], dtype=torch.bfloat16))
        self.register_buffer("matrix", torch.eye(192))
        self.weight = torch.nn.Parameter(torch.full((192, 192), 1 / 192))

    def add(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.sum(0))
        return self.total.clone()

    def get(self) -> torch.Tensor:
        return self.total.clone()

    def count(self, by: torch.Tensor) -> None:
        self.calls.add_(by)

    def subtract(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y

    def double(self, data: torch.Tensor) -> torch.Tensor:
        data.mul_(2)
        return data + 1

    def rescale(self, by: torch.Tensor) -> torch.Tensor:
        self.scale.mul_(by)
        return self.scale.clone()

    def work(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.matrix.copy_(self.matrix @ self.weight + x)
        return self.matrix.sum(), self.matrix[0].clone()


def export_toy(out: Path) -> None:
    rows = {0: Dim("rows", min=1, max=8)}
    two = torch.ones(2, 3)
    methods = {
        "add": ps.Method("add", (torch.ones(2, 4),), dynamic_shapes=(rows,)),
        "get": ps.Method("get"),
        "count": ps.Method("count", (torch.tensor(1),)),
        "subtract": ps.Method("subtract", (two, two)),
        "double": ps.Method("double", (torch.ones(2, 3),)),
        "rescale": ps.Method("rescale", (torch.ones(2, dtype=torch.bfloat16),)),
        "work": ps.Method("work", (torch.tensor(1.0),)),
    }
    program = ps.export(
        Toy().eval(), methods, backend="portable", constants={"max_length": 64, "name": "toy"}
    )
    program.save(out / "toy")


def export_echo(out: Path) -> None:
    def method(dtype: str) -> ps.Method:
        example = torch.zeros(2, 3, dtype=getattr(torch, dtype))
        return ps.Method(lambda x: x.clone(), (example,), dynamic_shapes=({0: Dim("n", max=4)},))

    methods = {dtype: method(dtype) for dtype in DTYPES}
    ps.export(torch.nn.Module().eval(), methods, backend="portable").save(out / "echo")
