"""Kernels that stand for slower ones of ExecuTorch's give what PyTorch's do, of any number."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

from polystate import EngineError, _core
from polystate.export.lowering.replaced_kernels import kernel_name
from tests.python.aten.compared_kernels import (
    ALL,
    FLOATS,
    INTEGERS,
    ComparedKernels,
    call_kernel,
    compare_samples,
)

aten = torch.ops.aten

# The largest error in units of the last place, against float64.
OF_ONE = {
    aten.exp.default: 1.1,
    aten.exp2.default: 1.1,
    aten.expm1.default: 1.6,
    aten.log.default: 1.1,
    aten.log1p.default: 1.6,
    aten.tanh.default: 1.6,
    aten.sigmoid.default: 2.5,
    aten.erf.default: 2.5,
    aten.sin.default: 1.6,
    aten.cos.default: 1.6,
    aten.tan.default: 3.5,
    aten.asin.default: 2.5,
    aten.acos.default: 2.5,
    aten.atan.default: 3.0,
    aten.sinh.default: 3.0,
    aten.cosh.default: 3.0,
    aten.log2.default: 2.5,
    aten.log10.default: 2.5,
    aten.sqrt.default: 0.5,
    aten.rsqrt.default: 1.6,
    aten.reciprocal.default: 0.5,
    aten.floor.default: 0.0,
    aten.ceil.default: 0.0,
    aten.trunc.default: 0.0,
    aten.round.default: 0.0,
    aten.neg.default: 0.0,
    aten.sign.default: 0.0,
    aten.relu.default: 0.0,
}
OPERATORS = (
    *(operator._schema.name.partition("::")[2] for operator in OF_ONE),
    "maximum",
    "minimum",
    "pow",
    "softmax",
    "where",
    *("atan2", "hypot", "logaddexp2"),
    *("mul", "div", "clamp", "clamp_min", "clamp_max"),
    *(f"nn.functional.{name}" for name in ("relu", "leaky_relu", "hardtanh", "elu", "gelu")),
    *("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"),
    *(f"logical_{name}" for name in ("and", "or", "xor", "not")),
    *(f"bitwise_{name}" for name in ("and", "or", "xor", "not")),
)


def test_samples_of_pytorch() -> None:
    counts = compare_samples(OPERATORS, with_common=True)
    for name in ("exp.default", "where.self", "maximum.default", "_softmax.default"):
        assert counts[f"aten.{name}"] > 0
    for name in ("clamp.Tensor", "hardtanh.default", "gelu.default", "bitwise_and.Tensor"):
        assert counts[f"aten.{name}"] > 0


def test_samples_of_sums() -> None:
    dtypes = [each for each in ALL if each != torch.float16]
    counts = compare_samples(("add", "sub"), dtypes, with_common=True)
    assert counts["aten.add.Tensor"] > 50 and counts["aten.sub.Tensor"] > 50


@pytest.mark.parametrize("operator", [aten.add.Tensor, aten.sub.Tensor], ids=str)
def test_sums_of_16_bits_are_rounded_once(operator: Any) -> None:
    """The factor has their type. PyTorch adds the product without rounding it first."""
    x, y = torch.randn(2, 50_000, dtype=torch.float16)
    for factor in (1, -3.125, 0.1):
        rounded = torch.tensor(factor).half().item()
        exact = operator(x.double(), y.double(), alpha=rounded)
        (found,) = call_kernel(operator, (x, y), {"alpha": factor}, (x,))
        nearest = exact.half().abs()
        unit = (torch.nextafter(nearest, torch.tensor(math.inf).half()) - nearest).double()
        of_product = 1e-7 * (rounded * y).abs().double()
        assert ((found.double() - exact).abs() <= 0.5001 * unit + of_product).all()


def test_numbers_beside_16_bits_are_rounded_where_pytorch_rounds_them() -> None:
    """In a sum, and as the first factor, they are; as the second factor or a divisor, not."""
    single = torch.tensor(1.1)
    with ComparedKernels((0.0, 0.0), with_common=True):
        for dtype in (torch.float16, torch.bfloat16):
            x = torch.randn(3000).to(dtype)
            x[:2] = -single.to(dtype)
            torch.add(x, single)
            torch.sub(single, x)
            for number in (single, torch.tensor([70_000]), torch.tensor(3.1, dtype=dtype)):
                torch.mul(x * 1e-3, number)
                torch.mul(number, x * 1e-3)
                torch.div(x, number)
                torch.div(number, x)
                torch.mul(number, x[:1])
            torch.add(x[:1], single)
            torch.eq(x[:1], -single)
            aten.mul.Scalar(x, 1.1)
            aten.div.Scalar(x, 1.1)
            aten.lt.Scalar(x, -1.1)
            aten.eq.Tensor(x, -single)
            for slope in (0.1, -0.7, 0.0):
                torch.nn.functional.leaky_relu(x, slope)
                aten.elu.default(x, slope, 1.3, 0.7)


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


@pytest.mark.parametrize("operator", [aten.sin.default, aten.cos.default, aten.tan.default])
def test_an_angle_has_the_same_result_beside_any_others(operator: Any) -> None:
    for dtype in (torch.float32, torch.float16):
        x = torch.randn(700).to(dtype)
        x[:4] = torch.tensor([0.0, -0.0, 1e-45, -1e-45])
        odd = torch.tensor([math.inf, math.nan, 5e4, -math.inf]).to(dtype)
        (alone,) = call_kernel(operator, (x,), {}, (x,))
        together = torch.cat([odd, x, odd])
        (found,) = call_kernel(operator, (together,), {}, (together,))
        assert torch.equal(found[4:-4], alone)
        assert torch.equal(alone.signbit(), operator(x).signbit())


def test_activations_of_odd_numbers() -> None:
    odd = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, 3e38, -3e38, 9.0, -9.0])
    with ComparedKernels(with_common=True) as compared:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            x = odd.to(dtype)
            for form in ("none", "tanh"):
                # PyTorch's own of larger ones is infinite or NaN.
                torch.nn.functional.gelu(x[~(x.double().abs() > 1e30)], approximate=form)
            for number in (1.0, 0.0, -2.0):
                aten.leaky_relu.default(x, number)
                aten.elu.default(x, number)
            torch.relu(x)
            torch.round(x + torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, 0.0, 0.0, 0.0]))
        for bounds in ((-1.5, 2.5), (2.0, -2.0)):
            aten.hardtanh.default(torch.tensor([-(2**63), 2**63 - 1, 0, 2]), *bounds)
    assert compared.counts["aten.elu.default"] == 12


def test_gelu_of_any_number() -> None:
    """Is x times a share of 1 that is as exact as float32 holds 1."""
    x = any_numbers()
    x = x[x.isfinite()]
    share = torch.special.ndtr(x.double())
    (found,) = call_kernel(aten.gelu.default, (x,), {}, (x,))
    error = (found.double() - x.double() * share).abs()
    assert (error <= 2.5e-7 * x.abs().double() + 1e-45).all()
    assert torch.equal(found[x > 6], x[x > 6]) and (found[x < -6] == 0).all()
    around = torch.arange(4.5, 5.4, 1e-6).neg()
    (found,) = call_kernel(aten.gelu.default, (around,), {}, (around,))
    assert (found <= 0).all()


def test_logarithms_of_two_powers() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 100_000) * torch.tensor([1.0, 9.0, 80.0, 1e-3]).repeat(25_000)
    exact = torch.logaddexp2(x.double(), y.double())
    (found,) = call_kernel(aten.logaddexp2.default, (x, y), {}, (x,))
    torch.testing.assert_close(found, exact.float(), rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("columns", [127, 128, 129, 2048, 2049])
def test_rows_of_any_length(columns: int) -> None:
    """A row may be computed at a time, or a part of it; a thread may begin within one."""
    x = torch.randn(41, columns)
    with ComparedKernels((0.0, 0.0), with_common=True):
        for each in (x[0], x[:, :1], x[0].half(), x[:1].double(), x[0, 0]):
            torch.mul(x, each)
            torch.lt(each, x)
            torch.add(x.half(), each.half())


def test_angles_of_all_quadrants() -> None:
    odd = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -3e38, 3e38]
    size = torch.tensor([*odd, 1e-30, 0.414, -2.42])
    for y, x in ((size[:, None], size), (torch.randn(300, 1), torch.randn(500))):
        exact = torch.atan2(y.double(), x.double())
        (found,) = call_kernel(aten.atan2.default, (y, x), {}, (exact.float(),))
        torch.testing.assert_close(found, exact.float(), rtol=3e-7, atol=0, equal_nan=True)
        assert torch.equal(found.signbit()[~exact.isnan()], exact.signbit()[~exact.isnan()])


@pytest.mark.parametrize("operator", [aten.huber_loss.default, aten.smooth_l1_loss.default])
def test_losses_of_elements(operator: Any) -> None:
    odd = torch.tensor([0.0, 0.3, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-30, 3e38, 5.0])
    with ComparedKernels() as compared:
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x = odd.to(dtype)
            for number in (1.0, 0.25, 3.0):
                operator(x[:, None], x[None], 0, number)
    assert compared.counts[str(operator)] == 12
    with pytest.raises(EngineError, match=r"_loss\.out.*'reduction' is not 'none'"):
        call_kernel(operator, (odd, odd, 1, 1.0), {}, (odd,))


def test_odd_numbers_of_two_and_types() -> None:
    odd = torch.tensor([1.0, -0.0, 0.0, math.inf, -math.inf, math.nan])
    with ComparedKernels() as compared:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            x, y = odd.to(dtype)[:, None], odd.to(dtype)
            torch.maximum(x, y)
            torch.minimum(x, y)
            torch.where(x > 0, x, y)
            torch.hypot(x, y)
            torch.hypot(x * 3e4, y)
            torch.logaddexp2(x, y)
            torch.logaddexp2(x * 60, y * 0.3)
        whole = torch.tensor([[-(2**63)], [2**63 - 1], [7]])
        torch.maximum(whole, whole.flip(0))
        torch.where(whole.int() > 0, whole.int(), 2)
        torch.where(torch.tensor([True, False]), whole > 0, torch.tensor(True))
        torch.floor(torch.tensor([1, 2]))
    names = {f"aten.{name}" for name in ("maximum.default", "minimum.default", "where.self")}
    assert compared.counts.keys() > names


def test_operands_of_unlike_types_and_shapes() -> None:
    """Compared in the type that PyTorch's `result_type` says, computed in that of the result."""
    numbers = [torch.tensor([0, 1, 2, 127]).to(dtype) for dtype in ALL]
    single = [torch.tensor(1.1).to(dtype) for dtype in ALL]
    with ComparedKernels(with_common=True) as compared:
        for x, y in itertools.product(numbers, [*numbers, *single]):
            for first, second in ((x, y), (y, x), (x[:, None], y)):
                torch.eq(first, second)
                torch.lt(first, second)
                torch.logical_xor(first, second)
                torch.mul(first, second)
                torch.div(first, second)
        for x in numbers:
            for number in (1, 1.1, True, 2**24 + 1):
                if not x.dtype.is_floating_point and number == 2**24 + 1 and x.dtype.itemsize < 4:
                    continue  # PyTorch refuses what does not fit the type
                torch.ge(x, number)
                torch.ne(x, number)
                aten.mul.Scalar(x, number)
                aten.add.Scalar(x, number, 2)
        rows = torch.randn(700, 3)
        for each in (rows[:1], rows[:, :1], rows[0], rows[0, 0]):
            torch.add(rows, each)
            torch.gt(each, rows)
            torch.clamp(rows, each.contiguous(), rows.abs())
        torch.mul(torch.randn(3, 1, 1300), torch.randn(1, 5, 1))
        torch.sub(torch.zeros(0, 3), rows[0])
    assert compared.counts["aten.lt.Tensor"] > 500


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_any_size_keep_the_low_bits(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    limits = torch.iinfo(dtype)
    x, y = (torch.randint(limits.min, limits.max, (3, 700), dtype=dtype) for _ in range(2))
    x[0, :4] = torch.tensor([limits.min, limits.max, limits.min, limits.max], dtype=dtype)
    y[0, :4] = torch.tensor([limits.min, limits.max, 1, 1], dtype=dtype)
    with ComparedKernels(with_common=True) as compared:
        for other in (y, y[0], y[:, :1], torch.tensor(2**40 + 3)):
            torch.add(x, other, alpha=5)
            torch.sub(x, other)
            torch.mul(x, other)
            torch.bitwise_xor(x, other)
        for other in (y, y[0], y[:, :1]):
            torch.maximum(x, other)
            torch.minimum(x, other)
            torch.where(x > 0, x, other)
            torch.bitwise_and(torch.bitwise_or(x, other), torch.bitwise_not(other))
            torch.clamp(x, other, None)
        torch.clamp(x, 3, 90)
        torch.neg(x)
        torch.sign(x)
        torch.relu(x)
        aten.hardtanh(x, 2.9, 90)
        aten.mul.Scalar(x, 7)
        aten.add.Scalar(x, 7, 9)
    names = """
        add.Tensor sub.Tensor mul.Tensor mul.Scalar add.Scalar maximum.default minimum.default
        bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor bitwise_not.default where.self
        clamp.default clamp.Tensor hardtanh.default relu.default neg.default sign.default
    """
    assert compared.counts.keys() >= {f"aten.{name}" for name in names.split()}


def test_numbers_that_do_not_fit_an_integer_give_their_low_bits() -> None:
    x = torch.tensor([1, -5, 7], dtype=torch.int32)
    for bounds, low in (((-(2.0**40) + 3, 2.0**40 + 5), (3, 5)), ((2**40 + 3, 2**33 + 5), (3, 5))):
        (found,) = call_kernel(aten.hardtanh.default, (x, *bounds), {}, (x,))
        assert torch.equal(found, x.clamp(*low))
    (found,) = call_kernel(aten.mul.Scalar, (x, 2**40 + 3), {}, (x,))
    assert torch.equal(found, x * 3)
    bools = torch.tensor([False, True])
    with ComparedKernels(with_common=True) as compared:
        torch.add(bools, bools.flip(0), alpha=2**32)
    assert compared.counts["aten.add.Tensor"] == 1


def test_bounds_that_are_nan_or_absent_or_the_wrong_way_round() -> None:
    odd = torch.tensor([1.0, -0.0, 0.0, math.inf, -math.inf, math.nan, -5.0])
    with ComparedKernels(with_common=True) as compared:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            x = odd.to(dtype)
            for bounds in ((-1, 1), (1, -1), (None, 0.0), (0.0, None), (math.nan, 1.0)):
                torch.clamp(x, *bounds)
            torch.clamp(x[:, None], x, None)
            torch.clamp(x[:, None], None, x)
            torch.clamp(x[:, None], x, x.flip(0))
        torch.clamp(torch.tensor([-(2**63), 2**63 - 1, 5]), -3, None)
        torch.clamp(torch.tensor([1, 5], dtype=torch.uint8), torch.tensor([2, 2]), None)
        torch.clamp(torch.tensor([1, 5]), 1.5, 2.5)
    assert compared.counts["aten.clamp.default"] > 20


def test_the_same_memory_may_be_an_operand_and_the_result() -> None:
    x = torch.randn(3000)
    for operator, given in ((aten.mul.Tensor, [x.flip(0)]), (aten.neg.default, [])):
        memory = x.clone()
        _core.call_operator(kernel_name(operator), [memory, *given, memory], 1)
        assert torch.equal(memory, operator(x, *given))


def test_what_is_neither_absent_nor_right_is_refused() -> None:
    x, out = torch.ones(3), torch.empty(3)
    with pytest.raises(EngineError, match=r"clamp\.out.*no bound"):
        _core.call_operator("polystate_faster::clamp.out", [x, None, None, out], 1)
    with pytest.raises(EngineError, match=r"gelu\.out.*approximate"):
        _core.call_operator("polystate_faster::gelu.out", [x, "sigmoid", out], 1)
    with pytest.raises(EngineError, match=r"bitwise_and\.Tensor_out.*no operands of type int64"):
        bits = [torch.ones(3).long(), torch.ones(3).long(), torch.ones(3).bool()]
        _core.call_operator("polystate_faster::bitwise_and.Tensor_out", bits, 1)
    with pytest.raises(EngineError, match=r"bitwise_and\.Tensor_out.*no results of type float32"):
        _core.call_operator("polystate_faster::bitwise_and.Tensor_out", [x, x, out], 1)


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


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.bool])
@pytest.mark.parametrize("shape", [(3, 1000), (2, 5, 257), (2, 300, 3), (2, 4099)])
def test_operands_that_go_with_rows_or_columns(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Also those of another type, or of one more dimension, and over the memory of the first."""
    torch.manual_seed(0)
    x = (torch.randn(shape) * 9).to(dtype)
    others = [(torch.randn(x[..., :1].shape) * 9).to(each) for each in (dtype, torch.int16)]
    with ComparedKernels((0, 0), with_common=True) as compared:
        for other in (*others, x[:1], x[:1, ..., :1], others[0][0]):
            torch.mul(x, other), torch.mul(other, x)
            torch.lt(x, other), torch.where(other > 0, x, other)
            torch.maximum(x, other.to(dtype))
    assert compared.counts["aten.mul.Tensor"] == 10
    memory = x.clone()
    _core.call_operator(kernel_name(aten.mul.Tensor), [memory, others[0], memory], 1)
    assert torch.equal(memory, x * others[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_all_numbers_of_16_bits_are_converted_as_pytorch_does(dtype: torch.dtype) -> None:
    """NaN, infinities and the smallest ones too, and results that are rounded to any of them."""
    x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    with ComparedKernels((0, 0), with_common=True) as compared:
        torch.neg(x)
        for factor in (0.1, 3.0, 1e-3, 6e4):
            torch.mul(x, torch.full_like(x, factor))
        torch.add(x, x.flip(0))
        torch.sub(x[:7], x[9:16])  # fewer than a vector has
    assert compared.counts.keys() > {"aten.neg.default", "aten.mul.Tensor", "aten.add.Tensor"}
    assert sum(compared.counts.values()) == 8
