"""Kernels of operators that go along a dimension give what PyTorch's do."""

from __future__ import annotations

import math

import pytest
import torch

from tests.python.aten.compared_kernels import (
    ALL,
    FLOATS,
    INTEGERS,
    ComparedKernels,
    compare_samples,
)

OPERATORS = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")


def test_samples_of_pytorch() -> None:
    counts = compare_samples(OPERATORS)
    assert counts.keys() == {f"aten.{name}.default" for name in OPERATORS}


def test_odd_numbers() -> None:
    inf, nan = math.inf, math.nan
    x = torch.tensor([[1.0, nan, 2.0, -inf], [-inf, -inf, 3.0, inf], [0.0, -0.0, inf, nan]])
    with ComparedKernels() as compared:
        for each in (x, x.T, x[:, :1], x[0, 0], x[:, :0], x.double(), x.to(torch.bfloat16)):
            for dim in range(-max(each.dim(), 1), max(each.dim(), 1)):
                torch.cumsum(each, dim)
                torch.cumprod(each, dim)
                torch.cummax(each, dim)
                torch.cummin(each, dim)
                torch.logcumsumexp(each, dim)
    assert len(compared.counts) == len(OPERATORS)


def test_sums_of_many_elements() -> None:
    x = torch.rand(2, 300_000) + 1
    with ComparedKernels((1e-6, 0.0)) as compared:
        torch.cumsum(x, 1)
        torch.cumsum(x > 1.5, 1)
    assert sum(compared.counts.values()) == 2


@pytest.mark.parametrize("dtype", ALL)
def test_more_elements_than_are_scanned_at_a_time(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shape = (3, 1300)
    x = (torch.randint(0, 9, shape) if dtype != torch.bool else torch.rand(shape) < 0.5).to(dtype)
    with ComparedKernels() as compared:
        for each in (x, x.T.contiguous(), x.reshape(13, 100, 3), x.reshape(2, 3, 650)):
            for dim in range(each.dim()):
                torch.cummax(each, dim)
                torch.cummin(each, dim)
                torch.cumsum(each, dim, dtype=torch.float64)
                torch.cumsum(each.to(torch.int64), dim, dtype=torch.int32)
                if dtype != torch.bool:
                    torch.cumsum(each, dim, dtype=dtype)
                    torch.cumprod(each * 2 - 1, dim)
                if dtype.is_floating_point:
                    torch.logcumsumexp(each, dim)
    of_numbers = 0 if dtype == torch.bool else 1  # cumprod
    assert len(compared.counts) == 3 + of_numbers + dtype.is_floating_point


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64])
def test_long_lanes_of_which_few_elements_are_the_largest_so_far(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = (100 * torch.randn(4, 1301)).to(dtype)
    x[1, 700:703] = x[1].max()  # met again
    if dtype.is_floating_point:
        x[2, 900], x[3, 40], x[3, 41] = math.nan, math.inf, -math.inf
    with ComparedKernels() as compared:
        for each in (x, x[:, :16].contiguous(), x[:, 1:48].contiguous()):
            torch.cummax(each, 1)
            torch.cummin(each, 1)
    assert sum(compared.counts.values()) == 6


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_scanned_as_integers(dtype: torch.dtype) -> None:
    inf, nan = math.inf, math.nan
    x = torch.tensor([0.6, -1.7, 300.0, 70_000.0, 3e9, -3e9, inf, -inf, nan, 2.5]).to(dtype)
    integers = [each for each in INTEGERS if each != torch.uint8]  # what eager calls do varies
    with ComparedKernels() as compared:
        for each in integers:
            for place in range(len(x)):
                torch.cumsum(x[place:], 0, dtype=each)
                torch.sum(x[place:], 0, dtype=each)
                torch.prod(x[place:], 0, dtype=each)
        torch.cumsum(x[:3], 0, dtype=torch.uint8)
    assert len(compared.counts) == 3
