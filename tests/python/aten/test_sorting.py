"""Kernels of operators that order, find, count and combine elements give what PyTorch's do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import (
    ALL,
    FLOATS,
    INTEGERS,
    ComparedKernels,
    call_kernel,
    compare_samples,
)

aten = torch.ops.aten

INF, NAN = math.inf, math.nan
EXACT = (0.0, 0.0)
ODD = torch.tensor(
    [[1.0, NAN, 2.0, -INF], [-INF, -INF, 3.0, INF], [0.0, -0.0, INF, NAN], [2.0, NAN, 2.0, 1.0]]
)


def odd_tensors() -> Iterator[Tensor]:
    """Numbers of all kinds in all types, of several shapes."""
    for dtype in FLOATS:
        x = ODD.to(dtype)
        yield from (x, x.T, x[:, :1], x[0, 0], x[:, :0], x[:0], torch.stack([x, x.flip(0)], 1))
    for dtype in (*INTEGERS, torch.bool):
        yield torch.tensor([[3, 0, 1, 1], [0, 0, 1, 3], [1, 7, 7, 0]]).to(dtype)


def test_samples_of_pytorch() -> None:
    names = (
        *("searchsorted", "bucketize", "isin", "histc", "bincount", "histogram", "histogramdd"),
        *("unique", "unique_consecutive", "nonzero_static", "scatter_reduce", "_segment_reduce"),
        "index_reduce",
    )
    counts = compare_samples(names, most=8)
    assert {name.split(".")[1] for name in counts} == {
        "searchsorted", "bucketize", "isin",
        "histc", "bincount", "histogram", "_histogramdd_from_bin_cts",
        "_histogramdd_from_bin_tensors", "_unique2", "unique_consecutive",
        "nonzero_static", "scatter_reduce", "index_reduce", "segment_reduce",
    }  # fmt: skip


def test_elements_are_ordered_with_nan_as_the_largest() -> None:
    with ComparedKernels() as compared:
        for x in odd_tensors():
            for dim in range(-max(x.dim(), 1), max(x.dim(), 1)):
                torch.sort(x, dim)
                torch.sort(x, dim=dim, descending=True, stable=True)
    assert compared.counts.keys() >= {"aten.sort.default", "aten.sort.stable"}


def many_elements(dtype: torch.dtype) -> Tensor:
    """[7, 600] numbers over a type's range, the ends of it, and many that are equal."""
    if dtype == torch.bool:
        return torch.rand(7, 600) < 0.4
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        x = torch.randint(info.min, info.max, (7, 600)).to(dtype)
        x[:, ::50], x[:, 1::50] = info.min, info.max
    else:
        x = (torch.randn(7, 600) * 10 ** torch.randint(-6, 5, (7, 600))).to(dtype)
        x[:, ::50], x[:, 1::50], x[:, 2::50], x[:, 3::50] = INF, -INF, 0.0, -0.0
    return torch.where(torch.rand(7, 600) < 0.5, x, x.roll(1, 1))


@pytest.mark.parametrize("dtype", ALL)
def test_many_elements_are_ordered_and_grouped(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = many_elements(dtype)
    with ComparedKernels(EXACT) as compared:
        for each in (x, x.T.contiguous(), x.flatten()):
            for dim in range(each.dim()):
                for descending in (False, True):
                    torch.sort(each, dim=dim, descending=descending, stable=True)
            torch.unique(each, return_inverse=True, return_counts=True)
            torch.unique_consecutive(each, return_inverse=True, return_counts=True)
        torch.unique(x[:, :6], dim=1, return_inverse=True)
        if dtype.is_floating_point:
            with_nan = torch.where(x > 1, NAN, x)
            torch.sort(with_nan, stable=True)
            torch.unique(with_nan, return_counts=True)
            torch.unique_consecutive(with_nan, return_inverse=True)
            for each in (x, with_nan):
                each.median(1)
                each.nanmedian(0)
                each.kthvalue(300)
    count = 1 if dtype.is_floating_point else 0
    assert compared.counts["aten.sort.stable"] == 10 + count
    assert compared.counts["aten._unique2.default"] == 3 + count
    assert compared.counts["aten.unique_consecutive.default"] == 3 + count
    assert compared.counts.get("aten.kthvalue.default", 0) == 2 * count


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_same_zero_is_the_median_of_all(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for size in (5, 6, 40, 301):
        for _ in range(20):
            x = torch.where(torch.rand(size) < 0.5, 0.0, -0.0).to(dtype)
            for operator in (aten.median.default, aten.nanmedian.default):
                (found,) = call_kernel(operator, (x,), {}, (operator(x),))
                assert found.signbit() == operator(x).signbit()


def lanes_of(x: Tensor) -> Iterator[tuple[int, int]]:
    """The dimensions of a tensor and their sizes, without those of size 0."""
    for dim in range(-max(x.dim(), 1), max(x.dim(), 1)):
        size = x.shape[dim] if x.dim() else 1
        if size:
            yield dim, size


def test_elements_are_found_by_their_rank() -> None:
    with ComparedKernels() as compared:
        for x in (x for x in odd_tensors() if x.dtype != torch.bool):
            x.median()
            x.nanmedian()
            for dim, size in lanes_of(x):
                for k in range(1, size + 1):
                    x.kthvalue(k, dim, keepdim=bool(k % 2))
                x.median(dim)
                x.nanmedian(dim, keepdim=True)
    assert len(compared.counts) == 6  # and flip
    for x in (x for x in odd_tensors() if x.dtype != torch.bool):
        for dim, _ in lanes_of(x):
            for keepdim in (False, True):
                if not x.isnan().any():  # PyTorch's own order is no order then
                    compare_places(aten.mode.default, (x, dim, keepdim))


@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_a_stable_order_are_the_top(largest: bool) -> None:
    """Of equal elements the first ones; PyTorch takes any."""
    torch.manual_seed(0)
    long = torch.randn(4, 333)
    long[:, ::20], long[1:, ::31], long[2:, ::9] = NAN, -INF, -0.0
    many = torch.randint(0, 50, (200, 700))
    for x in (*odd_tensors(), many.reshape(100, 700, 2), many, long, long.half()):
        for dim in range(-max(x.dim(), 1), max(x.dim(), 1)):
            size = x.shape[dim] if x.dim() else 1
            ordered = x.sort(dim=dim, descending=largest, stable=True)
            for k in {0, 1, 2, size // 9, size // 2, size} & set(range(size + 1)):
                expected = [each.narrow(dim, 0, k) if x.dim() else each for each in ordered]
                found = call_kernel(aten.topk.default, (x, k, dim, largest), {}, expected)
                for value, right in zip(found, expected, strict=True):
                    torch.testing.assert_close(value, right, rtol=0, atol=0, equal_nan=True)


def test_the_same_one_of_equal_elements_is_found() -> None:
    torch.manual_seed(0)
    with ComparedKernels() as compared:
        for size in (2, 3, 17, 64, 301):
            x = torch.randint(0, 1 + size // 4, (5, size))
            for k in (1, size // 3 + 1, size - 1, size):
                x.kthvalue(k)
                x.double().kthvalue(k, 1)
            x.median(1)
            x.double().nanmedian(1)
            x.mode(1)
    names = ("kthvalue.default", "median.dim", "mode.default", "nanmedian.dim")
    assert compared.counts.keys() == {f"aten.{name}" for name in names}


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_same_one_of_nothing_but_nan_is_found(dtype: torch.dtype) -> None:
    with ComparedKernels() as compared:
        for size in (1, 2, 3, 4, 5, 8, 15, 16, 17, 18, 33, 64, 1000):
            x = torch.full((2, size), NAN, dtype=dtype)
            x.nanmedian(1)
            x.mT.nanmedian(0, keepdim=True)
            x.median(1)
    assert compared.counts == {"aten.nanmedian.dim": 26, "aten.median.dim": 13}


def compare_places(operator: torch._ops.OpOverload, arguments: tuple[Any, ...]) -> None:
    """Compare the values that are found, and that they are where the kernel says.

    Of equal ones, either may be found.
    """
    expected = operator(*arguments)
    values, places = call_kernel(operator, arguments, {}, expected)
    torch.testing.assert_close(values, expected[0], equal_nan=True)
    x, keepdim = arguments[0], arguments[-1]
    if x.dim():
        dim = arguments[-2]
        there = x.gather(dim, places if keepdim else places.unsqueeze(dim))
        torch.testing.assert_close(
            there, values if keepdim else values.unsqueeze(dim), equal_nan=True
        )


def test_values_are_looked_up() -> None:
    with ComparedKernels() as compared:
        for dtype in (*FLOATS, *INTEGERS):
            rows = torch.tensor([[0, 1, 1, 4], [2, 2, 3, 9]]).to(dtype)
            values = torch.tensor([[0, 1, 5], [2, 9, 10]]).to(dtype)
            mixed, order = torch.tensor([4, 1, 0, 1]).to(dtype), torch.tensor([2, 1, 3, 0])
            for right in (False, True):
                torch.searchsorted(rows, values, right=right, out_int32=right)
                torch.searchsorted(mixed, values, right=right, sorter=order)
                torch.bucketize(values[0, 0], rows[0], right=right)
                torch.bucketize(values[:, :0], rows[0, :0], right=right)
                torch.isin(values, rows[0], invert=right)
        for dtype in FLOATS:
            values, boundaries = ODD.to(dtype), torch.tensor([-INF, 0.0, 1.0, INF, NAN]).to(dtype)
            for right in (False, True):
                torch.searchsorted(boundaries, values, side="right" if right else "left")
                torch.isin(values, boundaries, invert=right)
    assert len(compared.counts) == 3


def test_elements_are_counted() -> None:
    with ComparedKernels() as compared:
        for dtype in (torch.float32, torch.float64):
            x = torch.linspace(-2, 2, 41).to(dtype)[torch.randperm(41)]
            for edges in (torch.tensor([-1.0, 0.0, 0.5, 2.0]), torch.tensor([3.0, 4.0])):
                torch.histogram(x, edges.to(dtype))
            for each in (x, x[:0], x[:1].expand(3), (0 * x).add(1e10), (0 * x).sub(1e17)):
                torch.histc(each, 7)
                torch.histc(each, 8, -1, 1)
                torch.histogram(each, 5)
                torch.histogram(each, 5, range=(-1.0, 1.5), weight=each.abs())
                torch.histogram(x, 4, density=True)
            torch.histc(torch.tensor([-1.0, 0.2, 1.0]).to(dtype) * torch.finfo(dtype).max, 5)
            with_nan = torch.cat([x, torch.tensor([NAN, INF, -INF])])
            torch.histc(with_nan, 4, -2, 2)
            torch.histogram(with_nan, 4, range=(-2.0, 2.0))
            pairs, edges = torch.randn(30, 2).to(dtype), torch.linspace(-1, 1, 6).to(dtype)
            torch.histogramdd(pairs, [3, 4], range=[-1.0, 1.0, -2.0, 2.0])
            torch.histogramdd(pairs, [3, 4], density=True, weight=pairs[:, 0].abs())
            torch.histogramdd(pairs, [edges, edges[1::2].contiguous()])
        for dtype in FLOATS:
            for each in (x.to(dtype), ODD.nan_to_num(0, 7, -7).to(dtype)):
                torch.histc(each, 7)
                torch.histc(each, 10, -2, 5)
        for integers in INTEGERS:
            x = torch.tensor([1, 0, 5, 1]).to(integers)
            for each in (x, x[:0]):
                torch.bincount(each)
                torch.bincount(each, minlength=9)
                torch.bincount(each, weights=torch.rand(len(each)))
                torch.bincount(each, weights=torch.arange(len(each)))
    assert len(compared.counts) == 8  # and abs and index


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_on_an_edge_are_counted_where_pytorch_counts_them(dtype: torch.dtype) -> None:
    counts = 0
    with ComparedKernels() as compared:
        for bins in range(1, 40):
            for low, high in ((-2.0, 2.0), (0.0, 1.0), (-0.3, 0.6), (1e-3, 7.5)):
                edges = torch.linspace(low, high, bins + 1).to(dtype)
                torch.histogram(
                    torch.cat([edges, torch.zeros(5).to(dtype)]), bins, range=(low, high)
                )
                torch.histogram(edges, bins)
                counts += 2
        torch.histogramdd(torch.zeros(4, 2).to(dtype), [6, 6], range=[-2.0, 2.0, -2.0, 2.0])
    assert compared.counts["aten.histogram.bin_ct"] == counts


def test_the_median_of_nothing() -> None:
    with ComparedKernels() as compared:
        for dtype in ALL:
            torch.empty(0, dtype=dtype).median()
    assert compared.counts == {"aten.median.default": len(ALL)}


def test_equal_elements_are_put_together() -> None:
    with ComparedKernels() as compared:
        for x in odd_tensors():
            # Of NaNs, which all differ, any may come first.
            for flag in (False, True)[: 1 if x.isnan().any() else 2]:
                torch.unique(x, return_inverse=flag, return_counts=not flag)
                torch.unique_consecutive(x, return_inverse=flag, return_counts=not flag)
            torch.nonzero_static(x, size=3)
            torch.nonzero_static(x, size=30, fill_value=-7)
        for dtype in ALL:
            rows = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]).to(dtype)
            for dim in (0, 1, -1):
                torch.unique(rows, dim=dim, return_inverse=True, return_counts=True)
                torch.unique_consecutive(rows, dim=dim, return_inverse=True, return_counts=True)
            torch.unique(rows[:0], dim=0, return_counts=True)
    assert len(compared.counts) == 5  # and flip


@pytest.mark.parametrize("include_self", [True, False])
def test_elements_are_combined_at_places(include_self: bool) -> None:
    index = torch.tensor([[0, 2, 0, 1], [2, 2, 2, 2]])
    with ComparedKernels() as compared:
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for dtype in ALL:
                if dtype == torch.bool and reduce == "mean":
                    continue
                x, source = ODD.nan_to_num(0, 7, -7).to(dtype), ODD.nan_to_num(3, 9, 5).to(dtype)
                for dim in (0, 1, -1):
                    x.scatter_reduce(dim, index, source, reduce, include_self=include_self)
                x[0, 0].scatter_reduce(0, index[0, 0], source[0, 0], reduce)
                x.scatter_reduce(0, index[:0], source, reduce)
                if reduce == "sum" or dtype == torch.bool:
                    continue
                for dim in (0, 1, -1):
                    x.index_reduce(dim, index[0], source, reduce, include_self=include_self)
            for dtype in FLOATS:
                ODD.to(dtype).scatter_reduce(
                    0, index, ODD.T.to(dtype), reduce, include_self=include_self
                )
    assert compared.counts.keys() == {"aten.scatter_reduce.two", "aten.index_reduce.default"}


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int64])
def test_a_mean_of_integers_counts_in_their_type(dtype: torch.dtype) -> None:
    """A count of int8 is -1 of 255 elements, and 0 of 256, which PyTorch takes for 1."""
    lowest = torch.iinfo(dtype).min
    with ComparedKernels() as compared:
        for count in (1, 3, 127, 128, 129, 253, 254, 255, 256, 257, 512):
            index = torch.zeros(count, dtype=torch.int64)
            for first in (7, 250, lowest):
                source = torch.zeros(count, dtype=torch.int64)
                source[0] = first
                for include_self in (False, True):
                    for x in (torch.tensor([0, 5]).to(dtype), torch.tensor([-7, 5]).to(dtype)):
                        given = (0, index, source.to(dtype), "mean")
                        x.scatter_reduce(*given, include_self=include_self)
                        x.index_reduce(*given, include_self=include_self)
    assert list(compared.counts.values()) == [132, 132]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("include_self", [False, True])
def test_sixteen_bits_are_rounded_where_pytorch_rounds_them(
    dtype: torch.dtype, include_self: bool
) -> None:
    """Elements that are scattered are added in float32, those of `index_reduce` in 16 bits."""
    torch.manual_seed(0)
    with ComparedKernels(EXACT) as compared:
        for count in (1, 5, 60, 300, 2051):
            index = torch.randint(0, 2, (count,))
            for reduce in ("prod", "mean", "amax", "amin"):
                source, x = (torch.rand(count) * 3).to(dtype), torch.rand(2).to(dtype)
                given = (0, index, source, reduce)
                x.scatter_reduce(*given, include_self=include_self)
                x.index_reduce(*given, include_self=include_self)
            x.scatter_reduce(0, index, source, "sum", include_self=include_self)
        for shape, dim in (((3, 1, 4), 1), ((1, 3, 4), 0), ((3, 4, 1), 2), ((1, 4), 0)):
            sizes = list(shape)
            sizes[dim] = 600
            source = torch.rand(sizes).to(dtype)
            for index in (torch.zeros(600, dtype=torch.int64), torch.zeros(600, dtype=torch.int32)):
                x = torch.zeros(shape, dtype=dtype)
                x.index_reduce(dim, index, source, "mean", include_self=include_self)
        largest = torch.full((3,), 3e38 if dtype == torch.bfloat16 else 60000.0).to(dtype)
        largest.scatter_reduce(0, torch.zeros(3, dtype=torch.int64), largest, "mean")
    assert compared.counts == {
        "aten.scatter_reduce.two": 26,
        "aten.index_reduce.default": 28,
    }


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_segments_of_sixteen_bits_are_rounded_at_each_step(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    lengths = torch.tensor([1, 0, 60, 300, 2600])
    x = (torch.rand(2961) * 3).to(dtype)
    with ComparedKernels(EXACT) as compared:
        for reduce in ("sum", "prod", "mean", "max", "min"):
            for initial in (None, 2.3):
                torch.segment_reduce(x, reduce, lengths=lengths, initial=initial)
        large = torch.full((3,), 60000.0).to(dtype)
        torch.segment_reduce(large, "mean", lengths=torch.tensor([3]))
    assert compared.counts == {"aten.segment_reduce.default": 11}


def test_segments_are_reduced() -> None:
    with ComparedKernels() as compared:
        for dtype in FLOATS:
            for reduce in ("sum", "prod", "mean", "max", "min"):
                for initial in (None, 2):
                    options = {"unsafe": False, "initial": initial}
                    x, lengths = ODD.to(dtype), torch.tensor([1, 0, 3])
                    torch.segment_reduce(x, reduce, lengths=lengths, **options)
                    torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 1, 1, 4]), **options)
                    torch.segment_reduce(
                        x, reduce, lengths=lengths.expand(4, 3).contiguous(), axis=1, **options
                    )
                # Elements behind the last segment, which `lengths` leaves only where it is unsafe.
                torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 1, 2]))
                torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 1]), unsafe=True)
    assert len(compared.counts) == 1


def test_lengths_of_segments_make_up_the_whole() -> None:
    operator = torch.ops.aten.segment_reduce.default
    x, lengths = torch.arange(5.0), torch.tensor([2, 2])
    with pytest.raises(RuntimeError, match="when !unsafe"):
        operator(x, "sum", lengths=lengths)
    with pytest.raises(EngineError, match="lengths make 4 of 5 elements, and unsafe is False"):
        call_kernel(operator, (x, "sum"), {"lengths": lengths}, (torch.zeros(2),))


X = torch.arange(6.0).reshape(2, 3)
ITSELF = X.clone()
PLACES = torch.empty(2, 3, dtype=torch.int64)


@pytest.mark.parametrize(
    ("operator", "arguments", "results"),
    [
        ("aten::sort.values", (X, 2, False, X.clone(), PLACES), 2),
        ("aten::sort.values", (X, 0, False, X[:1].clone(), PLACES), 2),
        ("aten::sort.values", (ITSELF, 1, False, ITSELF, PLACES), 2),
        ("polystate_faster::topk.values", (X, 4, 1, True, True, X.clone(), PLACES), 2),
        ("polystate_faster::topk.values", (X, -1, 1, True, True, X.clone(), PLACES), 2),
        ("polystate_faster::topk.values", (ITSELF, 3, 1, True, True, ITSELF, PLACES), 2),
        ("aten::kthvalue.values", (X, 4, 1, False, X[:, 0].clone(), PLACES[:, 0].clone()), 2),
        (
            "aten::searchsorted.Tensor_out",
            (X[0].clone(), X, False, False, None, torch.tensor([0, 1, 3]), PLACES),
            1,
        ),
        ("aten::bincount.out", (torch.tensor([1, -1]), None, 0, PLACES[0].clone()), 1),
        ("aten::bincount.out", (torch.tensor([1, 2**62]), None, 0, PLACES[0].clone()), 1),
        (
            "aten::scatter_reduce.two_out",
            (X, 0, torch.full((2, 3), 2), X, "sum", True, X.clone()),
            1,
        ),
        (
            "aten::scatter_reduce.two_out",
            (X, 0, torch.zeros(2, 4, dtype=torch.int64), X, "sum", True, X.clone()),
            1,
        ),
        ("aten::index_reduce.out", (X, 0, torch.tensor([-1, 0]), X, "amax", True, X.clone()), 1),
        ("aten::index_reduce.out", (X, 0, torch.tensor([1]), X, "amax", True, X.clone()), 1),
        (
            "aten::segment_reduce.out",
            (X, "sum", torch.tensor([3, -1]), None, None, 0, True, None, X.clone()),
            1,
        ),
        (
            "aten::_histogramdd_from_bin_cts.out",
            (X, (2,), None, None, False, X.clone()),
            1,
        ),
        ("aten::nonzero_static.out", (X, -1, 0, PLACES), 1),
    ],
)
def test_a_call_that_does_not_fit_fails(
    operator: str, arguments: tuple[object, ...], results: int
) -> None:
    with pytest.raises(EngineError):
        _core.call_operator(operator, list(arguments), results)
