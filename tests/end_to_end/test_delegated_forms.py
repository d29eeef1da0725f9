"""Forms of operators that XNNPACK, or a pass before it, would compute otherwise than PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


def trained(norm: nn.Module) -> nn.Module:
    """A batch norm with statistics and weights that are no others'."""
    for tensor in (norm.running_mean, norm.weight, norm.bias):
        nn.init.normal_(tensor)
    norm.running_var.uniform_(0.5, 2)
    return norm


class Forms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 2)
        self.linear, self.square = nn.Linear(3, 4), nn.Linear(2, 2)
        self.norms = nn.ModuleList(trained(nn.BatchNorm2d(4)) for _ in range(2))
        self.row_norms = nn.ModuleList(trained(nn.BatchNorm1d(4)) for _ in range(2))
        self.channels = trained(nn.BatchNorm1d(2))
        self.bias = nn.Parameter(torch.randn(4))
        self.table = nn.Parameter(torch.randn(2, 4))
        self.weight = nn.Parameter(torch.randn(3, 4))
        self.register_buffer("kept", torch.zeros(6))

    def norms_that_share_a_product(self, x: Tensor, y: Tensor) -> list[Tensor]:
        pairs = zip(self.norms, (x, y), strict=True)
        images = [norm(self.convolution(each)) for norm, each in pairs]
        rows = [norm(self.linear(x[:, :, 0, 0])) for norm in self.row_norms]
        planes = self.channels(self.square(x[:, :2, :2, 0]))  # along dimension 1
        return [*images, *rows, planes]

    def scaled_sums(self, row: Tensor) -> list[Tensor]:
        return [
            torch.addmm(self.bias, row, self.weight, beta=0.5, alpha=2.0),
            torch.addmm(self.bias, row, self.weight, alpha=-1),
            torch.addmm(self.table, row, self.weight),
            torch.addmm(self.bias, row, self.weight),
        ]

    def largest(self, x: Tensor) -> list[Tensor]:
        return [
            x.max(1, keepdim=True).values,
            x.max(2).values,
            x.max(-1, keepdim=True).values,
            x.max(2, keepdim=True).values + 1,
        ]

    def parts(self, x: Tensor) -> list[Tensor]:
        return [x[:, -10:2] * 2, x[:, :, -7:3] + 1, x[:, -2:] * 2]

    def write(self, numbers: Tensor) -> Tensor:
        self.kept.copy_(torch.slice_scatter(self.kept, numbers, 0, 2, 4))
        return self.kept + 0

    def quotients(self, a: Tensor, b: Tensor) -> list[Tensor]:
        return [torch.div(a, b, rounding_mode="floor"), a // b]

    def signs(self, a: Tensor, b: Tensor) -> Tensor:
        return 1 / torch.div(a, b, rounding_mode="floor")

    def power(self, x: Tensor) -> Tensor:
        return x ** x.shape[0]


IMAGES = (2, 3, 4, 4)


@every_backend
def test_each_form_is_pytorchs(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(3)
    zeros = torch.tensor([-0.5, -0.0, 0.0, 0.5, 7.5, -7.5])
    ones = torch.tensor([-1.0, 1.0, -1.0, 2.0, -2.0, 0.3])
    row = torch.randn(2, 3)
    methods = {
        "norms": ps.Method(
            "norms_that_share_a_product", (torch.randn(IMAGES), torch.randn(IMAGES))
        ),
        "scaled_sums": ps.Method("scaled_sums", (row,)),
        "largest": ps.Method("largest", (torch.randn(IMAGES),)),
        "parts": ps.Method("parts", (torch.randn(IMAGES),)),
        "write": ps.Method("write", (torch.tensor([3, 4]),)),
        "quotients": ps.Method("quotients", (zeros, ones)),
        "signs": ps.Method("signs", (zeros, ones)),
        "power": ps.Method(
            "power", (torch.tensor([2, -3]),), dynamic_shapes={"x": {0: Dim("n", min=1, max=6)}}
        ),
    }
    if backend == "aoti":
        del methods["signs"]  # its compiler is told that signs of zeros do not count
    twins = Twins(Forms().eval().requires_grad_(False), methods, tmp_path, backend)
    twins.call("norms", torch.randn(IMAGES), torch.randn(IMAGES))
    twins.call("scaled_sums", torch.randn(2, 3))
    twins.call("largest", torch.randn(IMAGES))
    twins.call("largest", torch.randn(IMAGES).index_fill(3, torch.tensor([1]), torch.nan))
    twins.call("parts", torch.randn(IMAGES))
    twins.call("write", torch.tensor([5, -6]))
    for name in methods.keys() & {"quotients", "signs"}:
        twins.call(name, zeros.flip(0), ones)
        twins.call(name, zeros, ones)
    for count in (1, 3, 6):
        twins.call("power", torch.arange(count) - 2)


class OfATable(nn.Module):
    """A constant that several delegates of two methods use, and one of them at several places."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def scaled(self, x: Tensor) -> Tensor:
        return (x - 0.5 * self.table) @ self.table.t() @ self.table

    def added(self, x: Tensor) -> Tensor:
        return (x + self.table).cumsum(0) * self.table


@pytest.mark.parametrize("table", [torch.randn(4, 3), torch.randn(3, 4).t()])
def test_a_constant_that_several_delegates_use_is_taken_by_each(
    tmp_path: Path, table: Tensor
) -> None:
    methods = {name: ps.Method(name, (torch.randn(4, 3),)) for name in ("scaled", "added")}
    twins = Twins(OfATable(table), methods, tmp_path, "xnnpack")
    for name in methods:
        twins.call(name, torch.randn(4, 3))
