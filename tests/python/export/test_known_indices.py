"""What elements an index may have by its operator, and which indices need no check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from polystate.export.contract.known_indices import element_range

X = torch.arange(15.0).reshape(3, 5)


class Made(nn.Module):
    def __init__(self, make: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor) -> Tensor:
        return self.make(x)


def known(make: Callable[[Tensor], Tensor]) -> Any:
    exported = torch.export.export(Made(make), (X,)).run_decompositions({})
    ((result,),) = exported.graph.output_node().args  # type: ignore[misc]
    return element_range(result)


@pytest.mark.parametrize(
    ("make", "largest"),
    [
        (lambda x: x.argmax(), 14),
        (lambda x: x.argmin(1), 4),
        (lambda x: x.argmax(0, keepdim=True)[0], 2),
        (lambda x: x.topk(2, 1).indices[:, 0], 4),
        (lambda x: x.sort(0, descending=True).indices.flatten(), 2),
        (lambda x: x.argsort(-1).flip(0), 4),
        (lambda x: x.max(1).indices.unsqueeze(0), 4),
        (lambda x: x.kthvalue(2, 0).indices, 2),
        (lambda x: x.long() % 7, 6),
        (lambda x: x.long().clamp(0, 8)[0, :2], 8),
        (lambda x: x.to(torch.int8) % 127, 126),
    ],
)
def test_places_and_remainders_are_limited(make: Callable[[Tensor], Tensor], largest: int) -> None:
    assert known(make) == (0, largest)
    assert int(make(X).max()) <= largest


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.long(),
        lambda x: x.long() % -7,
        lambda x: x.to(torch.int8) % 200,  # 200 is -56 in 8 bits
        lambda x: x.long().clamp(min=0),
        lambda x: (x % 7).long(),
        lambda x: x.topk(2, 1).values.long(),
        lambda x: x.argmax(1) + 1,
    ],
)
def test_others_are_not(make: Callable[[Tensor], Tensor]) -> None:
    assert known(make) is None


def test_limits_wrap_to_the_type() -> None:
    assert known(lambda x: x.to(torch.uint8).clamp(0, -1)) == (0, 255)


class Table(nn.Module):
    """Reads a table of 8 rows, and changes a state that is written where it lies."""

    marks: Tensor
    rows: Tensor

    def __init__(self, make: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.register_buffer("marks", torch.zeros(128, 128))
        self.register_buffer("rows", torch.randn(8, 2), persistent=False)
        self.make = make

    def forward(self, x: Tensor) -> Tensor:
        self.marks[x[0, :1].long() % 128] += 1
        return self.rows[self.make(x)]


@pytest.mark.parametrize(
    ("make", "is_checked"),
    [
        (lambda x: x[0].argmax(0, keepdim=True), False),  # of 8
        (lambda x: x.flatten().argmax(0, keepdim=True), True),  # of 24
        (lambda x: x[0].long() % 8, False),
        (lambda x: x[0].long() % 9, True),
        (lambda x: x[0].long().clamp(-8, 7), False),
        (lambda x: x[0].long().clamp(-9, 7), True),
    ],
)
def test_what_may_be_out_of_range_is_checked(
    make: Callable[[Tensor], Tensor], is_checked: bool
) -> None:
    x = torch.zeros(3, 8)
    program = ps.export(Table(make), {"forward": ps.Method("forward", (x,))})
    method = program.methods["forward"]
    assert bool(method.checks) == is_checked
    assert method.checks_first


class Grown(nn.Module):
    """Reads a table that may be empty."""

    marks: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("marks", torch.zeros(128, 128))

    def forward(self, table: Tensor, x: Tensor) -> Tensor:
        self.marks[x % 128] += 1
        return torch.cat([table, torch.ones(3)])[(x * 3) % 4]


def test_sizes_may_be_0() -> None:
    rows = ({0: Dim("rows", min=0, max=9)}, None)
    example = (torch.ones(2), torch.tensor([1]))
    method = ps.Method("forward", example, dynamic_shapes=rows)
    program = ps.export(Grown(), {"forward": method})
    assert program.methods["forward"].checks
