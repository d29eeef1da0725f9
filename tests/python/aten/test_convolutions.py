"""Kernels of convolutions give what PyTorch's do."""

from __future__ import annotations

import math
import random

import pytest
import torch
from torch import Tensor

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import (
    INTEGERS,
    ComparedKernels,
    call_kernel,
    compare_samples,
)

aten = torch.ops.aten
CONVOLUTION = "aten.convolution.default"

Call = tuple[Tensor, Tensor, Tensor | None, list[int], list[int], list[int], bool, list[int], int]


def is_taken_by_pytorch(dtype: torch.dtype) -> bool:
    """Whether convolutions that are transposed, or whose taps are apart, may be of a type."""
    return dtype.is_floating_point or dtype == torch.int64


def drawn_call(draw: random.Random, dtype: torch.dtype, *, transposed: bool) -> Call:
    """A convolution of one to three dimensions, most often padded, of one output or more."""
    rank, groups = draw.choice((1, 2, 3)), draw.choice((1, 1, 2, 3))
    inputs, outputs = groups * draw.choice((1, 2, 5)), groups * draw.choice((1, 2, 4, 9))

    def numbers(*choices: int) -> list[int]:
        return [draw.choice(choices) for _ in range(rank)]

    kernel, stride, dilation, padding = (
        numbers(1, 2, 3, 4),
        numbers(1, 1, 2, 3),
        numbers(1, 1, 2) if is_taken_by_pytorch(dtype) else [1] * rank,
        numbers(0, 1, 2, 3),
    )
    more = [draw.randrange(each) for each in stride] if transposed else [0] * rank
    # So that a result has an element at least.
    sizes = [draw.randrange(10, 22 if rank < 3 else 12) for _ in range(rank)]
    weight = [inputs, outputs // groups] if transposed else [outputs, inputs // groups]
    x, w = torch.randn(draw.choice((1, 2)), inputs, *sizes), torch.randn(*weight, *kernel)
    bias = torch.randn(outputs) if draw.random() < 0.5 else None
    if not dtype.is_floating_point:
        x, w, bias = 9 * x, 9 * w, None if bias is None else 9 * bias
    own = [each if each is None else each.to(dtype) for each in (x, w, bias)]
    return (*own, stride, padding, dilation, transposed, more, groups)  # type: ignore[return-value]


def test_samples_of_pytorch() -> None:
    names = [f"nn.functional.conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)]
    dtypes = (torch.float32, torch.float64, torch.int64)
    assert compare_samples(names, dtypes, tolerance=(1e-4, 1e-3))[CONVOLUTION] > 100


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *INTEGERS])
def test_drawn_calls(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    draw = random.Random(0)
    # Sums of many products, of which some cancel each other.
    tolerance = {torch.float32: (1e-4, 1e-4), torch.float64: (1e-9, 1e-9)}.get(dtype)
    with ComparedKernels(tolerance) as compared:
        for number in range(60):
            transposed = is_taken_by_pytorch(dtype) and number % 2 == 1
            aten.convolution.default(*drawn_call(draw, dtype, transposed=transposed))
    assert compared.counts == {CONVOLUTION: 60}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_are_rounded_once(dtype: torch.dtype) -> None:
    """PyTorch rounds each tap of some convolutions."""
    torch.manual_seed(0)
    draw = random.Random(0)
    for number in range(40):
        arguments = drawn_call(draw, dtype, transposed=number % 2 == 1)
        wide = [each.float() if isinstance(each, Tensor) else each for each in arguments]
        expected = aten.convolution.default(*wide).to(dtype)
        (found,) = call_kernel(aten.convolution.default, arguments, {}, [expected])
        torch.testing.assert_close(found, expected, atol=1e-3, rtol=torch.finfo(dtype).eps)


@pytest.mark.parametrize("outputs", [1, 8])
def test_many_places_and_channels(outputs: int) -> None:
    """More than are computed at a time."""
    torch.manual_seed(0)
    image, weight = torch.randn(2, 70, 61, 67), torch.randn(outputs, 70, 3, 3)
    with ComparedKernels((1e-4, 1e-3)) as compared:
        aten.convolution.default(image, weight, None, [1], [1], [1], False, [0], 1)
        turned = weight.transpose(0, 1).contiguous()
        aten.convolution.default(image, turned, None, [2], [1], [1], True, [1], 1)
    assert compared.counts == {CONVOLUTION: 2}


@pytest.mark.parametrize("rest", [1, 15, 16, 17])
def test_the_last_places_of_a_channel_make_no_whole_tile(rest: int) -> None:
    """In memory the next channel follows them. 4096 places are computed at a time."""
    torch.manual_seed(0)
    signal, weight, bias = torch.randn(2, 16, 4096 + rest), torch.randn(8, 16, 1), torch.randn(8)
    with ComparedKernels((1e-5, 1e-5)) as compared:
        aten.convolution.default(signal, weight, bias, [1], [0], [1], False, [0], 1)
    assert compared.counts == {CONVOLUTION: 1}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("inputs", "size"), [(0, 4), (3, 0)])
def test_sums_of_nothing_are_the_bias(inputs: int, size: int, transposed: bool) -> None:
    channels = (inputs, 6) if transposed else (6, inputs)
    bias = torch.randn(6)
    image, weight = torch.randn(2, inputs, 5, size), torch.randn(*channels, 3, 3)
    arguments = (image, weight, bias, [1], [2, 2], [1], transposed, [0, 3], 1)
    shape = (2, 6, 3, size + 1) if transposed else (2, 6, 7, size + 2)
    (found,) = call_kernel(aten.convolution.default, arguments, {}, [torch.zeros(shape)])
    assert torch.equal(found, bias[:, None, None].expand(shape))


@pytest.mark.parametrize("transposed", [False, True])
def test_the_padding_adds_nothing(transposed: bool) -> None:
    """Not even where a weight is infinite, as PyTorch's kernels of most sizes have it."""
    image, weight = torch.ones(1, 4, 5, 5), torch.ones(4, 4, 3, 3)
    weight[0, 0, 0, 0], image[0, 1, 2, 2] = math.inf, math.nan
    arguments = (image, weight, None, [2], [1], [1], transposed, [1 if transposed else 0], 1)
    expected = aten.convolution.default(*arguments)
    (found,) = call_kernel(aten.convolution.default, arguments, {}, [expected])
    if not transposed:  # one by one, since PyTorch multiplies small images' padding
        padded = torch.nn.functional.pad(image, (1, 1, 1, 1), value=0.0)
        taken = padded.unfold(2, 3, 2).unfold(3, 3, 2)
        inside = torch.nn.functional.pad(torch.ones_like(image), (1, 1, 1, 1)).bool()
        inside = inside.unfold(2, 3, 2).unfold(3, 3, 2)
        products = torch.where(inside[:, None], taken[:, None] * weight[None, :, :, None, None], 0)
        expected = products.sum((2, 5, 6))
    torch.testing.assert_close(found, expected, equal_nan=True)
    assert found.isinf().any() and found.isnan().any() and found.isfinite().any()


def test_values_that_are_not_finite_are_multiplied() -> None:
    torch.manual_seed(0)
    image, weight = torch.randn(1, 4, 9, 9), torch.randn(6, 4, 3, 3)
    image[0, 1, 2, 2], image[0, 0, 8, 8], image[0, 3, 5, 0] = math.nan, math.inf, -math.inf
    with ComparedKernels((1e-4, 1e-4)) as compared:
        for transposed in (False, True):
            turned = weight.transpose(0, 1).contiguous() if transposed else weight
            aten.convolution.default(image, turned, None, [1], [1], [1], transposed, [0], 1)
            turned = turned.clone()
            turned[1, 1, 0, 0], turned[0, 0, 2, 1] = math.inf, math.nan
            aten.convolution.default(image, turned, None, [1], [0], [1], transposed, [0], 1)
    assert compared.counts == {CONVOLUTION: 4}


@pytest.mark.parametrize("namespace", ["polystate_aten", "polystate_faster"])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({0: torch.ones(4, 5, 5)}, "input has 3 dimensions and weight 4"),
        ({0: torch.ones(1, 4, 5, 5).double()}, "not of one type"),
        ({0: torch.ones(1, 3, 5, 5)}, "input has 3 channels, weight takes 4"),
        ({1: torch.ones(6, 4, 9, 3)}, "the input is smaller than the kernel"),
        ({1: torch.ones(6, 4, 0, 3)}, "the kernel has no elements"),
        ({2: torch.ones(5)}, "bias is not a number for each channel"),
        ({3: (0, 1)}, "argument 3 has 0"),
        ({3: (1, 1, 1)}, "argument 3 has 3 numbers"),
        ({4: (-1, 0)}, "argument 4 has -1"),
        ({5: (2**40, 1)}, f"argument 5 has {2**40}"),
        ({8: 0}, "into 0 groups"),
        ({8: 4}, "into 4 groups"),
        ({0: torch.ones(1, 0, 5, 5), 1: torch.ones(0, 4, 3, 3), 6: True, 8: 2**62}, "groups"),
    ],
)
def test_what_is_no_convolution_is_refused(
    namespace: str, changed: dict[int, object], reason: str
) -> None:
    given = [torch.ones(1, 4, 5, 5), torch.ones(6, 4, 3, 3), None, (1, 1), (0, 0), (1, 1)]
    arguments = [*given, False, (0, 0), 1]
    for place, value in changed.items():
        arguments[place] = value
    out = torch.zeros(1, 6, 3, 3)
    with pytest.raises(EngineError, match=f"convolution.*{reason}"):
        _core.call_operator(f"{namespace}::convolution.out", [*arguments, out], 1)
    assert not out.any()


def test_much_padding_takes_no_memory() -> None:
    """Of a program that asks for far more than an image has."""
    image, weight = torch.randn(1, 4, 5, 5), torch.randn(4, 4, 3, 3)
    wide = (image, weight, None, [2**30], [2**30], [1], False, [0], 1)
    (found,) = call_kernel(aten.convolution.default, wide, {}, [torch.zeros(1, 4, 3, 3)])
    expected = torch.zeros(4, 3, 3)
    expected[:, 1, 1] = torch.einsum("ihw,oihw->o", image[0, :, :3, :3], weight)
    torch.testing.assert_close(found[0], expected)
    # A copy of this input with its padding would take 40 GB.
    many = (torch.randn(1, 10_000, 1, 1), torch.randn(4, 10_000, 1, 1), None)
    around = (*many, [1], [500], [1], False, [0], 1)
    (found,) = call_kernel(aten.convolution.default, around, {}, [torch.zeros(1, 4, 1001, 1001)])
    sums = many[1].flatten(1) @ many[0].flatten()
    torch.testing.assert_close(found[0, :, 500, 500], sums, rtol=1e-3, atol=1e-3)
    assert found.count_nonzero() == sums.numel()
