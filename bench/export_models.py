"""Exports the benchmarks' models, with random weights. Usage: export_models.py FOLDER"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim

import polystate as ps

LARGE_WIDTH = 2048
LARGE_LAYERS = 18  # 18 x 2048 x 2048 float32 weights: 302 MB
PAIRS = 50  # of a linear and a ReLU: 100 operators


class Trivial(nn.Module):
    """As little work as a method can do: what is left is the cost of calling it."""

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Layers(nn.Module):
    """Linears with a ReLU after each, and a state that every call updates."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.register_buffer("total", torch.zeros(1, width))

    def step(self, x: torch.Tensor) -> torch.Tensor:
        for linear in self.linears:
            x = torch.relu(linear(x))
        self.total += x
        return x


def main(folder: Path) -> None:
    torch.manual_seed(0)
    pair = (torch.ones(2, 4), torch.ones(2, 4))
    rows = {0: Dim("rows", min=1, max=8)}
    add = {"add": ps.Method("add", args=pair, dynamic_shapes=(rows, rows))}
    ps.export(Trivial(), add, backend="portable").save(folder / "trivial")
    ps.export(Trivial(), add, backend="aoti").save(folder / "trivial_aoti")

    step = {"step": ps.Method("step", args=(torch.ones(1, 64),))}
    for backend in ("portable", "xnnpack"):
        ps.export(Layers(64, PAIRS), step, backend=backend).save(folder / f"hundred_{backend}")

    large = {"step": ps.Method("step", args=(torch.ones(1, LARGE_WIDTH),))}
    ps.export(Layers(LARGE_WIDTH, LARGE_LAYERS), large).save(folder / "large")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
