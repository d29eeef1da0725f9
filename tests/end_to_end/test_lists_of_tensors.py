"""Operators that return lists of tensors, along fixed dimensions and along some that vary."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.project = nn.Linear(16, 48)
        self.register_buffer("line", torch.zeros(4))

    def attend(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x).chunk(3, -1)
        return torch.softmax(q @ k.T, -1) @ v  # type: ignore[no-any-return]

    def divide(self, x: Tensor) -> list[Tensor]:
        cube = x.reshape(-1, 2, 8)
        return [
            *x.split(5, 1), *x.split([6, 10], 1), *x.unbind(1)[:2], *x.tensor_split(3, 1),
            *torch.hsplit(x, [3, 7]), *torch.vsplit(cube.transpose(0, 1), 2),
            *torch.dsplit(cube, 4), *torch.unsafe_chunk(x, 3, 1), *torch.split_copy(x, 7, 1),
            torch.unbind_copy(x, 1)[3], torch.stack(x.unbind(1)[3:6], 1),
            torch.cat(x.chunk(4, 1)[::-1], 1), nn.functional.glu(cube),
            *torch.meshgrid(x[:, 0], x[0]), *torch.broadcast_tensors(x[:, :1], x),
        ]  # fmt: skip

    def cut(self, x: Tensor) -> list[Tensor]:
        """Divides the dimension that varies."""
        first, rest = x.split([1, x.shape[0] - 1])
        return [first, rest * 2, *torch.vsplit(x, [1, 2])]

    def change(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x * 1
        a, b = x.chunk(2, 1)
        a.add_(b)
        c, d = self.line.split(2)
        c.add_(d + 1)
        self.line.unbind(0)[3].add_(x.sum())
        return x, self.line * 1


def test_parts_are_those_of_pytorch(tmp_path: Path, backend: str) -> None:
    rows = ({0: Dim("rows", min=2, max=9)},)
    methods = {
        name: ps.Method(name, (torch.randn(3, 16),), dynamic_shapes=rows)
        for name in ("attend", "divide", "cut", "change")
    }
    twins = Twins(Parts(), methods, tmp_path, backend)
    for name in methods:
        for count in (2, 7, 9):
            twins.call(name, torch.randn(count, 16))
