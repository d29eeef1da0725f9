"""Kernels that stand for slower ones of ExecuTorch's give what PyTorch's do, of any number."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.python.aten.compared_kernels import ComparedKernels, call_kernel, compare_samples

aten = torch.ops.aten

# The largest error in units of the last place, against float64.
OF_ONE = {
    aten.exp.default: 1.1,
    aten.log.default: 1.1,
    aten.log1p.default: 1.6,
    aten.tanh.default: 1.6,
    aten.sigmoid.default: 2.5,
    aten.sqrt.default: 0.5,
    aten.rsqrt.default: 1.6,
    aten.reciprocal.default: 0.5,
    aten.floor.default: 0.0,
    aten.ceil.default: 0.0,
    aten.trunc.default: 0.0,
}
OPERATORS = (
    *(operator._schema.name.partition("::")[2] for operator in OF_ONE),
    "maximum",
    "minimum",
    "pow",
    "softmax",
    "where",
)


def test_samples_of_pytorch() -> None:
    counts = compare_samples(OPERATORS)
    for name in ("exp.default", "where.self", "maximum.default", "_softmax.default"):
        assert counts[f"aten.{name}"] > 0


def any_numbers() -> torch.Tensor:
    """Every kind of float32: all bits by chance, numbers of usual sizes, and limits."""
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (300_000,), generator=generator)
    usual = [torch.randn(50_000, generator=generator) * size for size in (1e-3, 0.1, 1, 10, 60)]
    limits = [0.0, -0.0, math.inf, -math.inf, math.nan, 88.73, -87.4, -103.9, -104.1, 1e-45, -1.0]
    return torch.cat([bits.to(torch.int32).view(torch.float32), *usual, torch.tensor(limits)])


@pytest.mark.parametrize("operator", OF_ONE, ids=str)
def test_any_number(operator: Any) -> None:
    x = any_numbers()
    exact = operator(x.double())
    nearest = exact.float()
    (found,) = call_kernel(operator, (x,), {}, (nearest,))
    is_number = nearest.isfinite()
    assert torch.equal(found.isnan(), nearest.isnan())
    assert torch.equal(found[~is_number & ~nearest.isnan()], nearest[~is_number & ~nearest.isnan()])
    assert torch.equal(found.signbit()[is_number], nearest.signbit()[is_number])
    size = nearest.abs()[is_number]
    unit = torch.nextafter(size, torch.tensor(math.inf)).double() - size.double()
    error = (found.double() - exact).abs()[is_number] / unit
    if operator is aten.sigmoid.default:  # PyTorch's is 0 there, too
        error = error[x[is_number] > -87]
    assert error.max() <= OF_ONE[operator]


def test_odd_numbers_of_two_and_types() -> None:
    odd = torch.tensor([1.0, -0.0, 0.0, math.inf, -math.inf, math.nan])
    with ComparedKernels() as compared:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            x, y = odd.to(dtype)[:, None], odd.to(dtype)
            torch.maximum(x, y)
            torch.minimum(x, y)
            torch.where(x > 0, x, y)
        whole = torch.tensor([[-(2**63)], [2**63 - 1], [7]])
        torch.maximum(whole, whole.flip(0))
        torch.where(whole.int() > 0, whole.int(), 2)
        torch.where(torch.tensor([True, False]), whole > 0, torch.tensor(True))
        torch.floor(torch.tensor([1, 2]))
    names = {f"aten.{name}" for name in ("maximum.default", "minimum.default", "where.self")}
    assert compared.counts.keys() > names


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("operator", [aten._softmax.default, aten._log_softmax.default])
def test_shares_along_any_dimension(operator: Any, dtype: torch.dtype) -> None:
    """Against float64: PyTorch rounds the sums of a log_softmax to 16 bits."""
    x = 20 * torch.randn(3, 37, 5, dtype=dtype)
    x[0, 1, 2], x[1, 2, 3], x[2, :, 4] = math.nan, math.inf, -math.inf
    cases = [(x, dim) for dim in range(-3, 3)]
    cases += [(x[:, :, 0].contiguous(), 1), (x[:, :, :1].contiguous(), 2), (x[:0], 1)]
    cases += [(torch.randn(2, 1000, dtype=dtype), 1), (torch.tensor(2.0, dtype=dtype), 0)]
    for given, dim in cases:
        expected = operator(given.double(), dim, False).to(dtype)
        (found,) = call_kernel(operator, (given, dim, False), {}, (expected,))
        torch.testing.assert_close(found, expected, equal_nan=True)


def test_a_softmax_of_many_elements() -> None:
    x = torch.rand(2, 250_000)
    (found,) = call_kernel(aten._softmax.default, (x, 1, False), {}, (x,))
    torch.testing.assert_close(found, x.double().softmax(1).float(), rtol=1e-6, atol=0)
