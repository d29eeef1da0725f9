"""Tensors seen as others: by their bits, by strides of their memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES, Twins


class Bits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("values", torch.arange(12.0).view(3, 4))

    def read(self, x: Tensor) -> tuple[Tensor, ...]:
        return (
            x.view(torch.int32),
            x.view(torch.uint8)[..., 3::4],
            x.view(torch.int64),
            x.to(torch.bfloat16).view(torch.int16),
            (x.view(torch.int32) & 0x7FFFFFFF).view(torch.float32),
        )

    def clear_low_bits(self, mask: Tensor) -> Tensor:
        self.values.view(torch.int32).bitwise_and_(mask)
        return self.values * 2


@pytest.mark.parametrize("backend", ENGINES)
def test_bits_are_read_and_changed(tmp_path: Path, backend: str) -> None:
    x, mask = torch.randn(3, 4), torch.tensor(-(2**20), dtype=torch.int32)
    methods = {
        "read": ps.Method("read", (x,)),
        "clear_low_bits": ps.Method("clear_low_bits", (mask,)),
    }
    twins = Twins(Bits(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 0.0, "atol": 0.0}
    for factor in (1.0, -3.5, float("inf")):
        twins.call("read", torch.randn(3, 4) * factor)
    twins.call("clear_low_bits", mask)


class Bools(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        bools = x.view(torch.bool)
        return bools.sum(), torch.where(bools, 1, 2)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_bytes_that_are_no_bools_are_true(tmp_path: Path, backend: str) -> None:
    x = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
    twins = Twins(Bools(), {"forward": ps.Method("forward", (x,))}, tmp_path, backend)
    twins.call("forward", x)


class Strided(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.arange(12.0).view(3, 4))
        self.register_buffer("columns", torch.arange(12.0).view(3, 4).t())

    def whole(self, x: Tensor) -> tuple[Tensor, ...]:
        self.rows.as_strided((3,), (5,), 0).add_(x)
        return self.rows.as_strided((3,), (2,), 1) + x, self.rows[1:].as_strided((3,), (2,))

    def columns_read(self, x: Tensor) -> Tensor:
        return self.columns.as_strided((12,), (1,), 0)

    def columns_changed(self, x: Tensor) -> None:
        self.columns.as_strided((3,), (5,), 0).add_(x)

    def part_from_the_start(self, x: Tensor) -> Tensor:
        return self.rows[1:].as_strided((3,), (2,), 1) + x

    def beyond_a_part(self, x: Tensor) -> Tensor:
        return self.rows[:1].as_strided((3,), (5,)) + x

    def resized(self, x: Tensor) -> Tensor:
        return x.clone().resize_(3, 4)


def test_strides_of_what_lies_in_rows(tmp_path: Path) -> None:
    twins = Twins(Strided(), {"whole": ps.Method("whole", (torch.ones(3),))}, tmp_path)
    twins.call("whole", torch.randn(3))
    twins.call("whole", torch.randn(3))


@pytest.mark.parametrize(
    "method",
    [
        Strided.columns_read,
        Strided.columns_changed,
        Strided.part_from_the_start,
        Strided.beyond_a_part,
    ],
)
def test_strides_of_memory_are_refused(method: Callable[..., object]) -> None:
    name = method.__name__
    with pytest.raises(ps.UnsupportedError, match=r"as_strided.*test_bits_and_strides\.py"):
        ps.export(Strided(), {name: ps.Method(name, (torch.ones(3),))}, backend="portable")


def test_the_memory_of_an_input_is_row_by_row(tmp_path: Path) -> None:
    x = torch.randn(4, 3)
    twins = Twins(Strided(), {"resized": ps.Method("resized", (x,))}, tmp_path)
    twins.call("resized", torch.randn(4, 3))
    with pytest.raises(ps.UnsupportedError, match=r"'resize_'.*test_bits_and_strides\.py"):
        ps.export(Strided(), {"resized": ps.Method("resized", (x.T.contiguous().T,))})
