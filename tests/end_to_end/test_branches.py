"""Branches and mapped functions make tensors of numbers and change state, as in eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as torch_map
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import BACKENDS, ENGINES, Twins

ROWS = ({0: Dim("rows", min=1, max=6)},)


class Branches(nn.Module):
    total: Tensor
    count: Tensor
    line: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, -2.0, 0.5]))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("line", torch.zeros(4, 3))

    def constants(self, x: Tensor) -> Tensor:
        """Each branch makes a tensor of numbers, and sets elements to one."""

        def positive(x: Tensor) -> Tensor:
            y = x * torch.tensor([1.0, 2.0, 3.0])
            y[y < 0] = 7
            return y

        def negative(x: Tensor) -> Tensor:
            y = x - torch.tensor([[0.5], [0.25], [4.0]]).T
            y[:, 1] = -1
            return torch.bucketize(y, torch.tensor([-1.0, 0.0, 1.0])) + y

        return torch.cond(x.sum() > 0, positive, negative, (x,))

    def counts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both branches change state, not the same; what comes after reads it."""

        def positive(x: Tensor) -> Tensor:
            self.total.mul_(0.5).add_(x.sum(0))
            self.count.add_(1)
            return x * 2

        def negative(x: Tensor) -> Tensor:
            self.line[1:].copy_(self.line[:-1].clone())
            self.line[0] = x.sum(0)
            return x - self.total

        y = torch.cond(x.sum() > 0, positive, negative, (x,))
        return y + self.total, self.count * 1

    def nested(self, x: Tensor) -> Tensor:
        """A branch within a branch makes a constant, and changes state."""

        def inner(x: Tensor) -> Tensor:
            self.total.add_(x[0] * torch.tensor([1.0, 2.0, 3.0]))
            return x + 1

        def reset(x: Tensor) -> Tensor:
            self.total.fill_(0.25)
            return x - 1

        def outer(x: Tensor) -> Tensor:
            return torch.cond(x[0, 0] > 0, inner, reset, (x,)) * torch.tensor(3.0)

        return torch.cond(x.sum() > 0, outer, lambda x: x * 1, (x,)) + self.total

    def result_is_state(self, x: Tensor) -> Tensor:
        def add(x: Tensor) -> Tensor:
            return self.total.add_(x.sum(0))

        return torch.cond(x.sum() > 0, add, lambda x: x.sum(0), (x,))

    def changes_another(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """A branch changes what the method computed, and its input."""
        y = x * 2

        def add(x: Tensor) -> Tensor:
            y.add_(1)
            x.mul_(3)
            return x + y

        return torch.cond(x.sum() > 0, add, lambda x: x * 1, (x,)), y

    def mapped(self, x: Tensor) -> Tensor:
        def row(each: Tensor) -> Tensor:
            y = each * torch.tensor([1.0, -1.0, 2.0])
            y[y > 1] = 9
            return torch.cond(each.sum() > 0, lambda y: y + torch.tensor(5.0), torch.clone, (y,))

        return torch_map(row, x)


METHODS = ["constants", "counts", "nested", "result_is_state", "changes_another"]


def exported(names: list[str], folder: Path, backend: str) -> Twins:
    entries = {name: ps.Method(name, (torch.randn(3, 3),), dynamic_shapes=ROWS) for name in names}
    return Twins(Branches(), entries, folder, backend)


def call_all(twins: Twins, names: list[str]) -> None:
    """In turns, with sums of both signs."""
    for count in (1, 6, 3, 2, 5, 4):
        for name in names:
            for sign in (1, -1):
                x = torch.randn(count, 3)
                twins.call(name, x * sign * x.sum().sign())


@pytest.mark.parametrize("backend", ENGINES)
def test_branches_hold_constants_and_change_state(tmp_path: Path, backend: str) -> None:
    call_all(exported(METHODS, tmp_path, backend), METHODS)


@pytest.mark.parametrize("backend", [*BACKENDS, pytest.param("aoti", marks=pytest.mark.exhaustive)])
def test_a_mapped_function_holds_constants(tmp_path: Path, backend: str) -> None:
    call_all(exported(["mapped"], tmp_path, backend), ["mapped"])


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 4.0]))

    def forward(self, x: Tensor) -> Any:
        """One constant of both branches is one operand."""
        scale = self.scale
        return torch.cond(x.sum() > 0, lambda x: x * scale, lambda x: x + scale, (x,))


@pytest.mark.parametrize("backend", ["portable"])
def test_what_both_branches_read_is_stored_once(tmp_path: Path, backend: str) -> None:
    twins = Twins(Shared(), {"forward": ps.Method("forward", (torch.randn(3),))}, tmp_path, backend)
    for x in (torch.ones(3), -torch.ones(3)):
        twins.call("forward", x)


class Padded(nn.Module):
    """A branch in a branch; its results have one size because that of their operand is fixed."""

    def forward(self, x: Tensor, p: Tensor) -> Tensor:
        def chosen(v: Tensor) -> Tensor:
            inner: Tensor = torch.cond(
                v.sum() > 0,
                lambda u: nn.functional.pad(u, (1, 0))[:, :6] * 2,
                lambda u: u - 1,
                (v,),
            )
            return inner

        result: Tensor = torch.cond(p, chosen, lambda v: v * 1.5, (x,))
        return result


@pytest.mark.parametrize("backend", ["portable"])
def test_branches_of_fixed_sizes_are_compared_at_these(tmp_path: Path, backend: str) -> None:
    example = (torch.randn(4, 6), torch.tensor(True))
    twins = Twins(Padded(), {"forward": ps.Method("forward", example)}, tmp_path, backend)
    for taken in (True, False):
        twins.call("forward", torch.randn(4, 6).abs(), torch.tensor(taken))
        twins.call("forward", -torch.randn(4, 6).abs(), torch.tensor(taken))
