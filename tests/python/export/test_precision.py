"""In which precision the results of a program are computed."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from polystate.export.verification.precision import narrowest_widths

DOUBLES = torch.ones(3, dtype=torch.float64)


def traced(model, *args):
    exported = torch.export.export(model, args, strict=False)
    return SimpleNamespace(functional=exported.run_decompositions({}))


class Clock(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("time", torch.zeros(3, dtype=torch.float64))

    def forward(self, step):
        self.time.add_(step.double())
        return self.time * 2, step * 2


def test_what_is_passed_as_float32_makes_no_double_narrower():
    widths = narrowest_widths([traced(Clock(), torch.ones(3))])
    assert widths == {torch.float64: 8, torch.float32: 4}


class Narrows(nn.Module):
    def forward(self, x):
        return x.float().sin().double()


class NarrowsInside(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v.float().sin().double(), lambda v: v * 2, (x,))


class Computes(nn.Module):
    def forward(self, x):
        return x[1:].sin()


@pytest.mark.parametrize(("model", "width"), [(Narrows, 4), (NarrowsInside, 4), (Computes, 8)])
def test_a_double_is_as_narrow_as_what_it_is_computed_of(model, width):
    assert narrowest_widths([traced(model(), DOUBLES)]) == {torch.float64: width}


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.zeros(3, dtype=torch.float64))


class Writes(Held):
    def forward(self, x):
        self.held.copy_(x.float().sin())
        return x * 1


class Reads(Held):
    def forward(self, x):
        return self.held * x


def test_a_state_is_as_narrow_as_what_any_method_writes():
    reads, writes = traced(Reads(), DOUBLES), traced(Writes(), DOUBLES)
    assert narrowest_widths([reads]) == {torch.float64: 8}
    assert narrowest_widths([reads, writes])[torch.float64] == 4


class Widens(nn.Module):
    def forward(self, x):
        return x.float() * 2


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 2, dtype=torch.float16)

    def forward(self, ids):
        return self.table(ids).float() * 2


def test_inputs_of_half_precision_count_and_weights_that_are_only_read_do_not():
    assert narrowest_widths([traced(Widens(), torch.ones(3).half())]) == {torch.float32: 2}
    assert narrowest_widths([traced(Table(), torch.tensor([1, 2]))]) == {torch.float32: 4}
