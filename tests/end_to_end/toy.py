"""The module whose artifact most tests of the command lines show."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from torch.export import Dim

import polystate as ps
from tests.support.exported_models import kept


class Toy(torch.nn.Module):
    """A little of everything that the commands show."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("log", torch.zeros(4, 3))
        self.register_buffer("count", torch.tensor(2))

    def step(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.log.index_copy_(0, position, x[:1])
        self.count += 1
        return x * 2, self.count.clone()

    def read(self) -> torch.Tensor:
        return self.log.clone()

    def double(self, data: torch.Tensor) -> torch.Tensor:
        data.mul_(2)
        return data.sum()

    def even(self, x: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] % 2 == 0)
        return x.reshape(2, -1).sum(0)

    def brain(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def odd_values(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x / 0, x > 0


def toy(folder: Path) -> Path:
    """A copy of its artifact in a folder, to do with as one likes."""
    return Path(shutil.copytree(kept(_export) / "toy", folder / "toy"))


def _export(out: Path) -> None:
    rows = Dim("rows", min=1, max=4)
    pairs = Dim("pairs", min=1, max=8)
    methods = {
        "step": ps.Method(
            "step",
            args=(torch.ones(2, 3), torch.tensor([1])),
            dynamic_shapes=({0: rows}, None),
        ),
        "read": ps.Method("read"),
        "double": ps.Method("double", args=(torch.ones(3),)),
        "even": ps.Method("even", args=(torch.ones(4),), dynamic_shapes=({0: 2 * pairs},)),
        "brain": ps.Method("brain", args=(torch.ones(2, dtype=torch.bfloat16),)),
        "odd_values": ps.Method("odd_values", args=(torch.tensor([1.0, -1.0, 0.0]),)),
    }
    constants = {"max_length": 64, "name": "toy", "ratio": 0.5, "fast": True}
    ps.export(Toy(), methods, backend="portable", constants=constants).save(out / "toy")
