"""Operators that return lists of tensors, along fixed dimensions and along some that vary."""

from __future__ import annotations

from pathlib import Path

import pytest
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
        a, b = x.chunk(2)
        c, d = torch.chunk(x.repeat(2, 1), chunks=2)
        thirds = torch.tensor_split(x.sum(1), 3)
        return [first, rest * 2, *torch.vsplit(x, [1, 2]), a + 1, b * 2, c * d, *thirds]

    def cut_at(self, x: Tensor, places: Tensor) -> list[Tensor]:
        """Divides it where the values of a tensor say."""
        return [part * 2 for part in (*x.tensor_split(places), *x.T.tensor_split(places, dim=1))]

    def too_few(self, x: Tensor) -> Tensor:
        return x.chunk(3)[0] * 1

    def change_four(self, x: Tensor) -> Tensor:
        x = x * 1
        x.split(4)[1].add_(x[:1])
        return x

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


def test_parts_lie_between_the_values_of_a_tensor(tmp_path: Path, backend: str) -> None:
    shapes = ({0: Dim("rows", min=1, max=9)}, None)
    example = (torch.randn(5, 4), torch.tensor([1, 3]))
    methods = {"cut_at": ps.Method("cut_at", example, dynamic_shapes=shapes)}
    twins = Twins(Parts(), methods, tmp_path, backend)
    for count, places in ((5, [2, 3]), (1, [0, 1]), (9, [-3, 20]), (4, [3, 1]), (6, [-9, -1])):
        twins.call("cut_at", torch.randn(count, 4), torch.tensor(places))


CHUNKS = r"chunk\(3\) gives 2 to 3 parts of a dimension of 2 to 9, .* min for .* is 6 or more"
SPLIT = r"split\(4\) gives 1 to 3 parts of a dimension of 2 to 9, .* min=9 and max=12, or .*x\[:4\]"


@pytest.mark.parametrize(
    ("name", "message", "enough"), [("too_few", CHUNKS, 6), ("change_four", SPLIT, 9)]
)
def test_the_number_of_parts_must_not_vary(
    name: str, message: str, enough: int, tmp_path: Path, backend: str
) -> None:
    example = (torch.randn(9, 16),)
    rows = ({0: Dim("rows", min=2, max=9)},)
    with pytest.raises(ps.UnsupportedError, match=message):
        ps.export(Parts(), {name: ps.Method(name, example, dynamic_shapes=rows)}, backend=backend)
    rows = ({0: Dim("rows", min=enough, max=12)},)
    methods = {name: ps.Method(name, example, dynamic_shapes=rows)}
    twins = Twins(Parts(), methods, tmp_path, backend)
    for count in (enough, 11, 12):
        twins.call(name, torch.randn(count, 16))
