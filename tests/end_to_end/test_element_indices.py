"""Elements and rows that are read and written by indices without dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from polystate.errors import ContractError, Error
from tests.end_to_end.twins import ENGINES, Twins


class Places(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(8, dtype=torch.int64))
        self.register_buffer("table", torch.zeros(4, 3, 5))
        self.register_buffer("at", torch.tensor(0))

    def count(self, k: Tensor) -> Tensor:
        self.counts[k.clamp(0, 7)] += 2
        self.counts[k] = 5
        return self.counts[k - 1] * 2

    def write(self, row: Tensor, i: Tensor, j: Tensor) -> list[Tensor]:
        self.table[i] = row
        self.table[:, j, 1:3] = row[0, :2]
        self.table[i, j] += 1.0
        self.table[i, ..., j] = row[:, 1]
        self.table[None, 1, i] = row[None, None, 0]
        return [self.table[i, 0, j], self.table[..., j], self.table[1, None, i, ::2]]

    def best(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.at.copy_((self.at + 1) % 4)
        return x[x.argmax()], x[self.at]

    def small(self, k: Tensor) -> Tensor:
        self.counts[k.to(torch.int16)] = 1
        self.counts[k.to(torch.int32)] += 1
        return self.counts[k.to(torch.int16)] * 3

    def part(self, i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """From a place on, which may be counted from the end."""
        self.counts.narrow(0, i, 2).add_(x.long())
        return torch.narrow(self.table, 0, i, 2)[:, 0] + x[:, None], self.counts * 1

    def change(self, i: Tensor) -> Tensor:
        row = self.table[i]
        row.add_(1)
        row[i % 3].mul_(2)
        return row

    def from_the_end(self, i: Tensor) -> Tensor:
        self.counts.put_(i, torch.tensor([5, 7]))
        self.counts[i - 1] += 1
        return self.counts.take(i)


def two_places(generator: torch.Generator, args: Any, kwargs: Any) -> Any:
    """Unlike one another: which of two values a place gets is nowhere defined."""
    return (torch.randperm(8, generator=generator)[:2] - 4, *args[1:]), kwargs


@pytest.mark.parametrize("backend", ENGINES)
def test_places_are_read_and_written(tmp_path: Path, backend: str) -> None:
    row = torch.randn(3, 5)
    length = {"x": {0: Dim("length", min=4, max=9)}}
    methods = {
        "count": ps.Method("count", (torch.tensor(2),)),
        "write": ps.Method("write", (row, torch.tensor(1), torch.tensor(2))),
        "small": ps.Method("small", (torch.tensor(2),)),
        "change": ps.Method("change", (torch.tensor(1),)),
        "best": ps.Method("best", (torch.randn(5),), dynamic_shapes=length),
        "from_the_end": ps.Method("from_the_end", (torch.tensor([-1, 2]),), draw=two_places),
        "part": ps.Method("part", (torch.tensor(1), torch.randn(2))),
    }
    twins = Twins(Places(), methods, tmp_path, backend)
    for k in (1, 7, 3):
        twins.call("count", torch.tensor(k))
        twins.call("small", torch.tensor(8 - k))
        twins.call("best", torch.randn(k + 2) if k > 1 else torch.randn(4))
    for i, j in ((0, 0), (2, 1), (0, 2)):
        twins.call("change", torch.tensor(i))
        twins.call("write", torch.randn(3, 5), torch.tensor(i), torch.tensor(j))
        twins.call("part", torch.tensor(i - 2), 9 * torch.randn(2))
    for places in ([-1, 2], [0, -7], [7, -2]):
        twins.call("from_the_end", torch.tensor(places))
    before = twins.session.state["counts"].clone()
    for places in ([8, 0], [-8, 0]):
        with pytest.raises(ContractError, match="'i'"):
            twins.session.run("from_the_end", torch.tensor(places))
    for wrong in (9, -1):
        with pytest.raises(Error):
            twins.session.run("count", torch.tensor(wrong))
        with pytest.raises(Error):
            twins.session.run("part", torch.tensor(wrong * 9), torch.ones(2))
    assert torch.equal(twins.session.state["counts"], before)
    with pytest.raises(ContractError, match="'i'"):
        twins.session.run("write", row, torch.tensor(4), torch.tensor(0))


class Columns(nn.Module):
    """Writes beside slices at a number that is read from state, and at the places of a triangle."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(2, 6, 3))
        self.register_buffer("at", torch.tensor(0))
        self.register_buffer("square", torch.zeros(3, 3))

    def put(self, x: Tensor) -> Tensor:
        place = self.at.item()
        torch._check(place >= 0)
        torch._check(place < 6)
        self.table[:, place] = x
        self.table[..., place, 1:] = 2.0
        self.at += 1
        return self.table[:, place] * 1

    def fill(self, x: Tensor) -> Tensor:
        rows, columns = torch.tril_indices(3, 3)
        self.square[rows, columns] = x
        return self.square[tuple(torch.triu_indices(3, 3, 1))]


@pytest.mark.parametrize("backend", ENGINES)
def test_columns_are_written(tmp_path: Path, backend: str) -> None:
    methods = {
        "put": ps.Method("put", (torch.randn(2, 3),)),
        "fill": ps.Method("fill", (torch.randn(6),)),
    }
    twins = Twins(Columns(), methods, tmp_path, backend)
    for _ in range(3):
        twins.call("put", torch.randn(2, 3))
        twins.call("fill", torch.randn(6))


class Prefix(nn.Module):
    """As many rows as a number says that is kept as state."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.randn(30, 4))
        self.register_buffer("length", torch.tensor(29))

    def put(self, length: Tensor) -> Tensor:
        self.length.copy_(length)
        return self.length * 1

    def ask(self, x: Tensor) -> Tensor:
        length = self.length.item()
        torch._check(length >= 0)
        torch._check(length <= 30)
        return self.rows[:length].sum(0) + x


@pytest.mark.parametrize("backend", ENGINES)
def test_a_number_that_is_read_from_state_is_checked(tmp_path: Path, backend: str) -> None:
    methods = {
        "put": ps.Method("put", (torch.tensor(5),)),
        "ask": ps.Method("ask", (torch.randn(4),)),
    }
    twins = Twins(Prefix(), methods, tmp_path, backend)
    for length in (5, 30, 0):
        twins.call("put", torch.tensor(length))
        twins.call("ask", torch.randn(4))
    for wrong in (31, 40, -1):
        twins.call("put", torch.tensor(wrong))
        with pytest.raises(ContractError, match="0 <= length <= 30"):
            twins.session.run("ask", torch.randn(4))
