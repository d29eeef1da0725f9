"""Kernels of pools give what PyTorch's do."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import ComparedKernels, compare_samples

OPERATORS = {
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
    "aten.avg_pool3d.default",
    "aten.fractional_max_pool2d.default",
    "aten.fractional_max_pool3d.default",
    "aten.max_pool3d_with_indices.default",
}


def test_samples_of_pytorch() -> None:
    names = [
        f"nn.functional.{name}"
        for name in (
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
            "adaptive_max_pool1d",
            "adaptive_max_pool2d",
            "adaptive_max_pool3d",
            "avg_pool3d",
            "fractional_max_pool2d",
            "fractional_max_pool3d",
            "max_pool3d",
        )
    ]
    assert compare_samples(names, most=12).keys() >= OPERATORS


def test_odd_numbers_and_windows() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 6, 5)
    x[0, 0, 1, 2, 3], x[0, 1, 0, 0, 0], x[1, 2, 3, 3, 3] = math.nan, math.inf, -math.inf
    with ComparedKernels() as compared:
        for each in (x, x[0], x[:0], x.double(), x.to(torch.bfloat16), x.transpose(2, 4)):
            functional.max_pool3d(each, (3, 2, 2), (2, 1, 2), 1, (2, 1, 1), True, True)
            functional.adaptive_avg_pool2d(each.flatten(-3, -2), (3, 4))
            functional.adaptive_avg_pool3d(each, (2, None, 4))
            functional.adaptive_max_pool3d(each, (3, 9, 1), True)
            functional.adaptive_max_pool2d(each.flatten(-3, -2), (3, 4), True)
            for ceil_mode in (False, True) if each.dtype.itemsize > 2 else ():
                for counts_padding in (False, True):
                    functional.avg_pool3d(each, 3, (2, 3, 4), 1, ceil_mode, counts_padding)
                functional.avg_pool3d(each, 2, None, 1, ceil_mode, True, -5)
        functional.avg_pool3d((x.nan_to_num(0, 1, 1) * 50).long(), 2)
        functional.max_pool3d((x.nan_to_num(0, 1, 1) * 50).char(), 2)
        for low in (0.0, 1.0):
            samples = torch.full((2, 3, 3), low)
            torch.ops.aten.fractional_max_pool3d(x, (2, 3, 2), (3, 3, 3), samples)
            torch.ops.aten.fractional_max_pool2d(x[0], (2, 2), (4, 1), torch.rand(3, 7, 2))
    assert compared.counts.keys() == OPERATORS


@pytest.mark.parametrize("sample", [-0.5, 1.5, math.nan, math.inf])
def test_a_sample_that_is_no_share_is_refused(sample: float) -> None:
    samples = torch.full((1, 1, 2), sample)
    out, indices = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, dtype=torch.int64)
    with pytest.raises(EngineError, match="a random sample is"):
        _core.call_operator(
            "aten::fractional_max_pool2d.output",
            [torch.ones(1, 1, 4, 4), (2, 2), (2, 2), samples, out, indices],
            2,
        )
    assert not out.any()


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation", "reason"),
    [
        ((0, 1, 1), (1,), (0,), (1,), "argument 1 has 0"),
        ((2,), (0,), (0,), (1,), "argument 2 has 0"),
        ((2,), (1,), (2,), (1,), "more padding than half a window"),
        ((2,), (1,), (0,), (2**40,), f"argument 4 has {2**40}"),
        ((9,), (1,), (0,), (1,), "a plane is smaller than a window"),
        ((2, 2), (1,), (0,), (1,), "argument 1 has 2 numbers, not 3"),
    ],
)
def test_windows_that_are_none_are_refused(
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    reason: str,
) -> None:
    out, indices = torch.zeros(1, 4, 4, 4), torch.zeros(1, 4, 4, 4, dtype=torch.int64)
    arguments = [torch.ones(1, 4, 4, 4), kernel, stride, padding, dilation, False, out, indices]
    with pytest.raises(EngineError, match=f"max_pool3d_with_indices.*{reason}"):
        _core.call_operator("aten::max_pool3d_with_indices.out", arguments, 2)
    assert not out.any()
