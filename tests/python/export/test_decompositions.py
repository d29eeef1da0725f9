"""Operators that are written by others have the values and types of PyTorch's."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from polystate.export.lowering.row_decompositions import ROW_OPERATORS
from polystate.export.tracing.decompositions.table import DECOMPOSED

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ALL = (*FLOATS, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)
ODD = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.25, 0.999, 7.5, -2.0])


def values(dtype: torch.dtype) -> Tensor:
    return ODD.to(dtype) if dtype.is_floating_point else torch.tensor([0, 1, 2, 100]).to(dtype)


def assert_same(operator: torch._ops.OpOverload, *arguments: object) -> None:
    found, right = DECOMPOSED[operator](*arguments), operator(*arguments)
    if found is not NotImplemented:
        torch.testing.assert_close(found, right, equal_nan=True)
        assert torch.equal(found.signbit() & ~found.isnan(), right.signbit() & ~right.isnan())


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_signs(dtype: torch.dtype) -> None:
    x = values(dtype)
    assert_same(aten.sign.default, x)
    assert_same(aten.signbit.default, x[~x.isnan()])
    for sign in (-0.0, 2.0, -1):
        assert_same(aten.copysign.Scalar, x, sign)


@pytest.mark.parametrize("dtypes", list(itertools.product(ALL, ALL)), ids=str)
def test_copysign_of_all_pairs_of_types(dtypes: tuple[torch.dtype, torch.dtype]) -> None:
    x, sign = values(dtypes[0]), values(dtypes[1])
    assert_same(aten.copysign.Tensor, x[:, None], sign[~sign.isnan()])


@pytest.mark.parametrize("eps", [None, 1e-3, 0.2])
def test_logit_of_16_bits(eps: float | None) -> None:
    for dtype in FLOATS:
        assert_same(aten.logit.default, values(dtype), eps)
    assert_same(aten.logit.default, ODD, eps)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_ldexp_of_numbers_of_all_sizes(dtype: torch.dtype) -> None:
    x = torch.cat([values(dtype), torch.tensor([1e-30, -3e38, 1e-45]).to(dtype)])[:, None]
    integers = [0, 1, -1, 20, 127, 160, -126, -160, 1100, -1100, 2**31 - 1, -(2**31), 2**32 + 3]
    assert_same(aten.ldexp.Tensor, x, torch.tensor(integers))
    assert_same(aten.ldexp.Tensor, x, torch.tensor([3, -3], dtype=torch.int8))
    assert_same(aten.ldexp.Tensor, x, torch.tensor([1.5, -0.5, 3.0]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_windows_of_planes(dtype: torch.dtype) -> None:
    im2col = ROW_OPERATORS[aten.im2col.default]
    x = torch.randn(2, 3, 7, 9).to(dtype)
    for each in (x, x[0], x[:0], x.mT, x.to(memory_format=torch.channels_last)):
        for windows in (
            ([2, 3], [1, 1], [0, 0], [1, 1]),
            ([3, 1], [2, 4], [1, 2], [2, 3]),
            ([7, 7], [1, 1], [0, 0], [5, 5]),
        ):
            assert torch.equal(im2col(each, *windows), aten.im2col.default(each, *windows))


def test_a_bicubic_resampling_is_that_of_given_sizes() -> None:
    bicubic = ROW_OPERATORS[aten.upsample_bicubic2d.vec]
    x = torch.randn(1, 2, 5, 6)
    for arguments in ((None, False, [1.7, 2.0]), ([3, 9], True, None), (None, True, [0.5, 0.6])):
        assert torch.equal(bicubic(x, *arguments), aten.upsample_bicubic2d.vec(x, *arguments))


def test_windows_of_rows() -> None:
    max_pool1d = ROW_OPERATORS[aten.max_pool1d.default]
    x = torch.randn(2, 3, 11)
    for each in (x, x[0], x[:0], x.mT):
        for windows in (([2],), ([3], [2], [1]), ([3], [1], [1], [2], True), ([2], [3], [0], [1])):
            assert torch.equal(max_pool1d(each, *windows), aten.max_pool1d(each, *windows))


def test_repeats_of_rows_and_elements() -> None:
    repeat = ROW_OPERATORS[aten.repeat_interleave.self_int]
    for x in (torch.randn(2, 3, 4), torch.randn(3, 2).mT, torch.randn(2, 0), torch.tensor(3)):
        for repeats in (0, 1, 3):
            assert torch.equal(repeat(x, repeats), x.repeat_interleave(repeats))
            for dim in range(-x.dim(), x.dim()):
                assert torch.equal(repeat(x, repeats, dim), x.repeat_interleave(repeats, dim))


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_margins_of_targets_up_to_the_first_that_is_none(
    dtype: torch.dtype, reduction: int
) -> None:
    loss = aten.multilabel_margin_loss_forward.default
    targets = torch.randint(-1, 5, (40, 5), generator=torch.Generator().manual_seed(0))
    rows = 3 * torch.randn(40, 5, dtype=dtype)
    rows[3:9, 2] = math.nan
    for x, target in (
        (rows, targets),
        (rows[0], targets[0]),
        (rows[1], torch.full((5,), -1)),
        (rows[2, 3], torch.tensor(-1)),
        (rows[2, 3], torch.tensor(0)),
    ):
        found, right = DECOMPOSED[loss](x, target, reduction), loss(x, target, reduction)
        for one, other in zip(found, right, strict=True):
            torch.testing.assert_close(one, other)
    for wrong in (-2, 5):  # behind the first that is none, too
        with pytest.raises(RuntimeError, match="out of bounds"):
            DECOMPOSED[loss](rows[0], torch.tensor([1, -1, wrong, 0, 0]), reduction)


def test_unpooled_elements_lie_in_their_own_plane() -> None:
    x = torch.randn(2, 3, 8, 6)
    for size in (2, 3):
        pooled, places = torch.nn.functional.max_pool2d(x, size, return_indices=True)
        assert_same(aten.max_unpool2d.default, pooled, places, [8, 6])
        assert_same(aten.max_unpool2d.default, pooled[0], places[0], [9, 7])
    volume = torch.randn(2, 3, 4, 6, 5)
    pooled, places = torch.nn.functional.max_pool3d(volume, 2, return_indices=True)
    assert_same(aten.max_unpool3d.default, pooled, places, [4, 6, 5], [2, 2, 2], [0, 0, 0])
    assert_same(aten.max_unpool2d.default, x[:0], x[:0].long(), [16, 12])
    nothing = torch.zeros(2, 0, 6)
    unpool = DECOMPOSED[aten.max_unpool2d.default]
    assert unpool(nothing, nothing.long(), [0, 12]) is NotImplemented
    with pytest.raises(RuntimeError, match="out of bounds"):
        DECOMPOSED[aten.max_unpool2d.default](x, torch.full(x.shape, 48), [8, 6])


def test_masked_indices_may_be_outside() -> None:
    x, mask = torch.randn(4, 5), torch.tensor([True, False, True, True])
    rows, columns = torch.tensor([0, 9, -1, -4]), torch.tensor([-5, 2, 4, 7])
    assert_same(aten._unsafe_masked_index.default, x, mask, [rows, columns], 0.5)
    assert_same(aten._unsafe_masked_index.default, x, mask[:, None], [rows], -1)


def test_elements_are_taken_along_a_dimension_or_of_all() -> None:
    x = torch.randn(3, 4)
    assert_same(aten.take_along_dim.default, x, torch.tensor([[11, 0], [5, 5]]))
    assert_same(aten.take_along_dim.default, x, torch.tensor([[3], [0], [-1]]), 1)
    for wrong in (-1, 12):
        with pytest.raises(RuntimeError, match="out of bounds"):
            DECOMPOSED[aten.take_along_dim.default](x, torch.tensor([wrong]))


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_shares_of_quantiles_are_from_0_to_1(name: str) -> None:
    operator = getattr(aten, name).default
    x = torch.randn(3, 5)
    x[1, 2] = math.nan
    for shares in (torch.tensor(0.3), torch.tensor([0.0, 1.0, 0.55])):
        assert_same(operator, x, shares)
        assert_same(operator, x, shares, 1, True)
    for wrong in (-0.1, 1.5, math.nan):
        with pytest.raises(RuntimeError, match="range"):
            DECOMPOSED[operator](x, torch.tensor([0.5, wrong]))


@pytest.mark.parametrize("mode", [0, 1], ids=["sum", "mean"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_bags_with_and_without_a_last_offset(dtype: torch.dtype, mode: int) -> None:
    weight, words = torch.randn(6, 3).to(dtype), torch.tensor([1, 2, 4, 2])
    bags = aten._embedding_bag_forward_only.default

    def given(offsets: list[int], has_last: bool, padding: int) -> tuple[object, ...]:
        at = torch.tensor(offsets)
        return weight, words, at, False, mode, False, None, has_last, padding

    for offsets in ([0, 1, 4], [0, 1, 3], [0, 0, 0], [0, 4, 4], [0, 2, 2]):  # with some behind
        for has_last in (True, False):
            for padding in (-1, 2):
                arguments = given(offsets, has_last, padding)
                torch.testing.assert_close(DECOMPOSED[bags](*arguments)[0], bags(*arguments)[0])
    for wrong in ([1, 2, 4], [0, 2, 1], [0, 1, 5], [0, -1, 2]):
        for has_last in (True, False):
            with pytest.raises(RuntimeError, match=r"offset|out of bounds"):
                DECOMPOSED[bags](*given(wrong, has_last, -1))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_gradients_of_targets(reduction: int) -> None:
    rows = torch.randn(3, 4), torch.tensor([1, 2, 0])
    planes = torch.randn(2, 4, 2, 3), torch.randint(0, 4, (2, 2, 3))
    for operator, x, target in (
        (aten.nll_loss_backward.default, *rows),
        (aten.nll_loss_backward.default, rows[0][0], rows[1][0]),
        (aten.nll_loss2d_backward.default, *planes),
    ):
        gradient = torch.randn(target.shape if reduction == 0 else ())
        for weight in (None, torch.rand(4)):
            for total in (2.5, 0.0):
                given = (gradient, x, target, weight, reduction, 2, torch.tensor(total))
                found, right = DECOMPOSED[operator](*given), operator(*given)
                torch.testing.assert_close(found, right, equal_nan=True)
        wrong = (gradient, x, torch.full_like(target, 4), None, reduction, 2, torch.tensor(1.0))
        with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
            DECOMPOSED[operator](*wrong)
