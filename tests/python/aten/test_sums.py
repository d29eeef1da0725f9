"""Sums, products, means and extremes: short and long runs, rows, and elements of every type."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.python.aten.compared_kernels import ALL, FLOATS, ComparedKernels, compare_samples

aten = torch.ops.aten

# Runs that are shorter, and longer, than what is computed at once; rows by the hundred.
SHAPES = [
    *((700, 5), (5, 700), (9, 300), (3, 31, 40), (2, 9, 65), (3, 1300), (3, 520), (17, 1)),
    *((3, 5, 7), (0, 3), ()),
]


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Numbers whose products neither vanish nor grow without end, and a NaN here and there."""
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -3, 4, shape).to(dtype)
    x = (1 + 0.02 * torch.randn(shape, dtype=torch.float64)) * torch.randn(shape).sign()
    x[torch.rand(shape) < 0.0005] = math.nan
    return x.to(dtype)


def dimensions(x: Tensor) -> list[list[int]]:
    """All of a tensor's, each alone, and the first with the last."""
    return [list(range(x.dim())), *([dim] for dim in range(x.dim())), *([[0, -1]] * (x.dim() > 2))]


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: str(dtype)[6:])
def test_all_lengths_of_runs_and_rows(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    is_half = dtype.is_floating_point and dtype.itemsize == 2
    with ComparedKernels((2e-2, 1e-2) if is_half else None) as compared:
        for shape in SHAPES:
            x = drawn(shape, dtype)
            # PyTorch rounds each product, so that long ones in 16 bits are right by chance.
            factors = x.sign() if is_half else x
            aten.prod.default(factors)
            for dim in range(x.dim()):
                aten.prod.dim_int(factors, dim, dim == 0)
            for dims in dimensions(x):
                aten.sum.dim_IntList(x, dims)
                if x.numel() > 0:
                    aten.amax.default(x, dims)
                    aten.amin.default(x, dims, True)
                if dtype.is_floating_point:
                    aten.mean.dim(x, dims)
    assert sum(compared.counts.values()) > 100


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: str(dtype)[6:])
def test_results_of_every_type(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = drawn((9, 40), dtype).double().nan_to_num(1.0)
    positive, ones, x = x.abs().to(dtype), (x != 0).to(dtype), x.to(dtype)
    with ComparedKernels((2e-2, 1e-2)) as compared:
        for of_result in ALL:
            aten.sum.dim_IntList(positive if of_result == torch.uint8 else x, [0], dtype=of_result)
            aten.prod.dim_int(ones, 0, dtype=of_result)
            if of_result in FLOATS:
                aten.mean.dim(x, [-1], dtype=of_result)
    assert sum(compared.counts.values()) == 2 * len(ALL) + len(FLOATS)


def test_products_that_wrap_or_overflow() -> None:
    with ComparedKernels() as compared:
        aten.prod.default(torch.full((70,), 3, dtype=torch.int32))
        aten.prod.dim_int(torch.full((3, 70), -7), 1)
        aten.prod.default(torch.full((70,), 1e30))
        aten.prod.default(torch.full((70,), 1e-30))
        aten.prod.default(torch.tensor([math.inf, 0.0]))
    assert compared.counts == {"aten.prod.default": 4, "aten.prod.dim_int": 1}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_sixteen_bits_are_rounded_each_time(dtype: torch.dtype) -> None:
    large, small = 2.0 ** (10 if dtype == torch.float16 else 100), 2.0**-20
    with ComparedKernels() as compared:
        for x in (
            torch.tensor([large, large, small]).to(dtype),
            torch.tensor([[large, 3.0], [large, 0.1], [small, 7.0]]).to(dtype),
            torch.randn(40, generator=torch.Generator().manual_seed(1)).to(dtype),
        ):
            aten.prod.default(x)
            aten.prod.dim_int(x, 0)
            aten.prod.default(x.float(), dtype=dtype)
    assert compared.counts == {"aten.prod.default": 6, "aten.prod.dim_int": 3}


def test_samples_of_pytorch() -> None:
    assert compare_samples(["prod"]).keys() == {"aten.prod.default", "aten.prod.dim_int"}
