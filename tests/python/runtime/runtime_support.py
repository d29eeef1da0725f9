"""What the tests of the runtime export and call."""

from __future__ import annotations

from collections.abc import Callable

import torch

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
