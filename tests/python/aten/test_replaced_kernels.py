"""Kernels that take the places of ExecuTorch's give what PyTorch's do."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import (
    FLOATS,
    ComparedKernels,
    call_kernel,
    compare_samples,
)

aten = torch.ops.aten

EXACT = (torch.float32, torch.float64)


def test_samples_of_pytorch() -> None:
    names = [
        "sum",
        "mean",
        "amax",
        "amin",
        "cdist",
        "pow",
        "float_power",
        "nn.functional.max_pool2d",
    ]
    counts = compare_samples([*names, "_upsample_bilinear2d_aa"])
    assert counts.keys() >= {
        "aten.sum.dim_IntList",
        "aten.mean.dim",
        "aten.amax.default",
        "aten.amin.default",
        "aten._cdist_forward.default",
        "aten.pow.Tensor_Tensor",
        "aten.max_pool2d_with_indices.default",
        "aten._upsample_bilinear2d_aa.default",
    }


def test_samples_of_types_that_are_not_rounded_on_the_way() -> None:
    counts = compare_samples(["remainder", "fmod"], dtypes=FLOATS)
    counts |= compare_samples(["grid_sampler_2d", "nn.functional.grid_sample"], dtypes=EXACT)
    assert counts.keys() >= {
        "aten.remainder.Tensor",
        "aten.fmod.Tensor",
        "aten.grid_sampler_2d.default",
    }


def test_sums_over_any_dimensions() -> None:
    torch.manual_seed(0)
    with ComparedKernels() as compared:
        for shape in ((3, 4, 5, 6), (1, 70, 1, 3), (2, 0, 3), (17, 130), (1,), ()):
            x = torch.randn(shape, dtype=torch.float64)
            some = itertools.chain.from_iterable(
                itertools.combinations(range(len(shape)), count) for count in range(5)
            )
            for dims in some:
                aten.sum.dim_IntList(x, dims)
                aten.mean.dim(x, dims, True, dtype=torch.float32)
                aten.sum.dim_IntList((x * 9).to(torch.int32), dims, dtype=torch.bool)
    assert sum(compared.counts.values()) > 100


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool])
def test_extremes_over_any_dimensions(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    with ComparedKernels() as compared:
        for shape in ((3, 4, 5, 6), (1, 70, 1, 3), (0, 3), (300, 40), (1,), ()):
            x = (torch.randn(shape) * 9).to(dtype)
            if dtype.is_floating_point and x.numel() > 70:
                x.view(-1)[::17] = math.nan
                x.view(-1)[::13] = -math.inf
            for count in range(1, 5):
                for dims in itertools.combinations(range(len(shape)), count):
                    if all(shape[dim] > 0 for dim in dims):
                        aten.amax.default(x, dims)
                        aten.amin.default(x, dims, True)
    assert sum(compared.counts.values()) >= 50


def test_extremes_of_no_elements_are_refused() -> None:
    for name in ("amax", "amin"):
        call = [torch.zeros(3, 0), (1,), False, torch.zeros(3)]
        with pytest.raises(EngineError, match="of no elements none is the largest"):
            _core.call_operator(f"polystate_aten::{name}.out", call, 1)


def test_remainders_of_integers() -> None:
    ends = torch.iinfo(torch.int64)
    x = torch.tensor([7, -7, 0, ends.min, ends.max, -1])
    for name, right in (
        ("polystate_aten::remainder.Tensor_out", torch.remainder),
        ("polystate_faster::fmod.Tensor_out", torch.fmod),
    ):
        for divisor in (3, -3, 1, -1, ends.max):
            found = torch.zeros(6, dtype=torch.int64)
            _core.call_operator(name, [x, torch.full((6,), divisor), found], 1)
            expected = torch.zeros(6).long() if divisor == -1 else right(x, divisor)
            torch.testing.assert_close(found, expected)
        with pytest.raises(EngineError, match="an integer is divided by zero"):
            call = [x, torch.zeros(6, dtype=torch.int64), torch.zeros_like(x)]
            _core.call_operator(name, call, 1)


def test_remainders_of_large_quotients() -> None:
    torch.manual_seed(0)
    x = torch.randn(10_000) * 10 ** torch.randint(-15, 15, (10_000,)).to(torch.float32)
    divisors = torch.randn(10_000) * 10 ** torch.randint(-3, 3, (10_000,)).to(torch.float32)
    odd = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 0.1, 3.0, -3.0])
    odd_divisors = odd.repeat(8)
    with ComparedKernels() as compared:
        for dtype, remainder in itertools.product(
            (torch.float32, torch.float64), (aten.remainder.Tensor, aten.fmod.Tensor)
        ):
            a, b = x.to(dtype), divisors.to(dtype)
            remainder(a, b)
            remainder(b, a)
            remainder(a * (1 + torch.rand(10_000)), b * (1 + torch.rand(10_000, dtype=dtype)))
            remainder(odd.repeat_interleave(8).to(dtype), odd_divisors.to(dtype))
            remainder(a.round(), torch.full_like(a, 0.1))
    assert sum(compared.counts.values()) == 20


def test_long_sums_are_as_exact_as_pytorchs() -> None:
    x = torch.rand(1 << 20)
    with ComparedKernels() as compared:
        aten.sum.dim_IntList(x, [0])
        aten.mean.dim(x.reshape(4, -1), [1])
        aten.sum.dim_IntList(x.reshape(-1, 2), [0])
    assert sum(compared.counts.values()) == 3


def test_powers_of_integers_wrap() -> None:
    numbers = torch.tensor([-(2**63), -3, -1, 0, 1, 2, 3, 2**62 + 1])
    exponents = torch.tensor([-5, -2, -1, 0, 1, 2, 3, 62, 63, 64])
    with ComparedKernels() as compared:
        for dtype in (torch.int64, torch.int32, torch.int16, torch.int8):
            aten.pow.Tensor_Tensor(numbers[:, None].to(dtype), exponents.to(dtype))
        aten.pow.Tensor_Scalar(numbers, 2**53 + 1)
        aten.pow.Scalar(2**53 + 1, exponents[3:])
        aten.pow.Tensor_Scalar(torch.tensor([2.0, -1.0, math.nan]), 0.5)
    assert sum(compared.counts.values()) == 7


def test_places_of_planes_that_are_odd() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 5)
    grid = torch.randn(2, 3, 4, 2) * 1.5
    grid[0, 0, 0] = torch.tensor([-1.0, 1.0])
    with ComparedKernels() as compared:
        for mode, padding, aligned in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
            aten.grid_sampler_2d(x, grid, mode, padding, aligned)
        grid[1, 1, 0] = torch.tensor([math.nan, 0.5])
        grid[1, 2, 0] = torch.tensor([0.5, -math.inf])
        for mode, aligned in itertools.product((0, 1), (False, True)):
            aten.grid_sampler_2d(x, grid, mode, 0, aligned)
    assert sum(compared.counts.values()) == 22


def test_nan_is_the_largest_of_a_window() -> None:
    x = torch.randn(2, 3, 7, 8)
    x[0, 1, 2, 3], x[1, 0, 0, 0], x[1, 2] = math.nan, -math.inf, -math.inf
    with ComparedKernels() as compared:
        for size, stride, padding, dilation, ceil in (
            ([2, 3], [], [0, 1], [1, 1], False),
            ([3], [2], [1], [2], True),
        ):
            aten.max_pool2d_with_indices(x, size, stride, padding, dilation, ceil)
            aten.max_pool2d_with_indices(x[0].half(), size, stride, padding, dilation, ceil)
    assert sum(compared.counts.values()) == 4


def test_distances_of_vectors_with_nan() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(2, 1, 5, 3), torch.randn(4, 6, 3)
    a[0, 0, 1, 2], b[2, 3, 0], a[1, 0, 0] = math.nan, math.inf, b[0, 0]
    with ComparedKernels() as compared:
        for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf):
            aten._cdist_forward(a, b, p, None)
            aten._cdist_forward(a[:, :, :, :0], b[:, :, :0], p, None)
            aten._cdist_forward(a[:, :, :0], b, p, None)
    assert sum(compared.counts.values()) == 18


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        (
            "sum.IntList_out",
            [torch.ones(2, 3), (0, 0), False, None, torch.zeros(3)],
            "dimension 0 is none, or is there twice",
        ),
        (
            "sum.IntList_out",
            [torch.ones(2, 3), (2,), False, None, torch.zeros(3)],
            "dimension 2 is none, or is there twice",
        ),
        (
            "mean.out",
            [torch.ones(3).long(), (0,), False, None, torch.zeros(()).long()],
            "a mean of integers",
        ),
        (
            "_cdist_forward.out",
            [torch.ones(2, 3), torch.ones(2, 2), 2.0, None, torch.zeros(2, 2)],
            "x1 and x2 do not fit each other",
        ),
        (
            "_cdist_forward.out",
            [torch.ones(2, 3), torch.ones(2, 3), -1.0, None, torch.zeros(2, 2)],
            "p is -1",
        ),
        (
            "_cdist_forward.out",
            [torch.ones(2, 1, 3), torch.ones(3, 1, 3), 2.0, None, torch.zeros(3, 1, 1)],
            "batches of .* do not fit each other",
        ),
        (
            "pow.Scalar_out",
            [0.5, torch.tensor([1]), torch.tensor([0])],
            "no results of type int64",
        ),
    ],
)
def test_what_pytorch_refuses_is_refused(name: str, arguments: list[object], reason: str) -> None:
    out = arguments[-1]
    assert isinstance(out, torch.Tensor)
    with pytest.raises(EngineError, match=f"polystate_aten::{name}.*{reason}"):
        _core.call_operator(f"polystate_aten::{name}", arguments, 1)
    assert not out.any()


def test_a_mean_is_rounded_to_sixteen_bits_at_its_end() -> None:
    with ComparedKernels() as compared:
        for numbers, dtype in (
            ([70000.0, 50.0], torch.float16),
            ([100000.0, -100000.0], torch.float16),
            ([257.0, 1.0], torch.bfloat16),
        ):
            for given in (torch.float32, torch.float64, torch.int32):
                aten.mean.dim(torch.tensor(numbers, dtype=given), [0], dtype=dtype)
    assert compared.counts == {"aten.mean.dim": 9}


def test_a_mean_whose_sum_is_too_large_is_infinite() -> None:
    with ComparedKernels() as compared:
        for dtype, largest in ((torch.float32, 3e38), (torch.float64, 1.7e308)):
            x = torch.full((6, 50), largest, dtype=dtype)
            for dims in ([0], [1], [0, 1]):
                aten.mean.dim(x, dims)
                aten.mean.dim(-x, dims, True)
            aten.mean.dim(x.double(), [0], dtype=torch.float32)
        for dtype in (torch.float16, torch.bfloat16):
            x = torch.full((6, 50), torch.finfo(dtype).max, dtype=dtype)
            aten.mean.dim(x, [0])
            aten.mean.dim(x, [0, 1])
    assert compared.counts == {"aten.mean.dim": 18}


def test_a_sum_of_bools_is_whether_something_is_not_zero() -> None:
    with ComparedKernels() as compared:
        for values in ([256, 0], [0.5], [math.nan, 0.0], [0.0, -0.0], [True] * 256):
            aten.sum.dim_IntList(torch.tensor(values), [0], dtype=torch.bool)
    assert compared.counts == {"aten.sum.dim_IntList": 5}


def test_operands_are_what_the_type_of_the_result_makes_of_them() -> None:
    small = torch.tensor([2, 3, 5], dtype=torch.uint8)
    halves = torch.tensor([7.0, 3.0]).half()
    with ComparedKernels() as compared:
        aten.remainder.Scalar(small, -2)
        aten.remainder.Scalar(small, True)
        aten.remainder.Tensor(torch.tensor(100000.0), halves)
        aten.pow.Tensor_Tensor(small, torch.tensor(256))
        aten.pow.Tensor_Scalar(torch.tensor([2, 3]), True)
        aten.pow.Scalar(True, small)
        aten.gcd(torch.tensor([6, 8], dtype=torch.uint8), torch.tensor(-3))
        aten.lcm(torch.tensor([6, 8], dtype=torch.int8), torch.tensor(300))
        aten.xlogy.Tensor(halves, torch.tensor([100000]))
    assert sum(compared.counts.values()) == 9
    with pytest.raises(EngineError, match="divided by zero"):
        call_kernel(aten.remainder.Scalar, (small, 256), {}, [small])


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_that_are_roots(dtype: torch.dtype) -> None:
    x = torch.tensor([-math.inf, -0.0, 0.0, -1.0, 2.0, math.inf, math.nan], dtype=dtype)
    with ComparedKernels() as compared:
        for exponent in (0.5, -0.5, 0.25, -1, 2):
            aten.pow.Tensor_Scalar(x, exponent)
            aten.pow.Tensor_Tensor(x, torch.tensor(exponent, dtype=dtype))
    assert sum(compared.counts.values()) == 10


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_place_of_a_plane_that_is_no_number(mode: int) -> None:
    plane = torch.arange(6.0).reshape(1, 1, 2, 3) + 1
    places = torch.tensor([[math.nan, 0.0], [math.inf, -0.5], [0.3, -math.inf], [0.0, math.nan]])
    with ComparedKernels() as compared:
        for padding, aligned in itertools.product((1, 2), (False, True)):
            aten.grid_sampler_2d(plane, places.reshape(1, 2, 2, 2), mode, padding, aligned)
    assert compared.counts == {"aten.grid_sampler_2d.default": 4}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
def test_shifts_by_more_than_there_is(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 5, 100, -1 if dtype.is_signed else 255], dtype=dtype)
    with ComparedKernels() as compared:
        for count in (0, 1, 7, 8, 31, 32, 63, 64, 100, -1 if dtype.is_signed else 200):
            for operator in (aten.bitwise_left_shift, aten.bitwise_right_shift):
                operator.Tensor(x, torch.full_like(x, count))
                operator.Tensor_Scalar(x, count)
    assert sum(compared.counts.values()) == 40


def test_a_least_multiple_that_is_too_large() -> None:
    for dtype in (torch.int16, torch.int32, torch.int64):
        largest = torch.iinfo(dtype).max
        x = torch.tensor([largest, largest - 1, largest // 3, -largest, 6], dtype=dtype)
        others = (x.roll(1), -x.roll(2))
        with ComparedKernels() as compared:
            for other in others:
                aten.lcm(x, other)
        assert compared.counts == {"aten.lcm.default": 2}
