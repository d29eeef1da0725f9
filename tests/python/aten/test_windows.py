"""Kernels of means of windows in planes, and of paddings, give what PyTorch's do."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import (
    FLOATS,
    INTEGERS,
    ComparedKernels,
    compare_samples,
)

aten = torch.ops.aten

PADDINGS = {
    f"aten.{kind}_pad{rank}d.default" for kind in ("reflection", "replication") for rank in "123"
}


def test_samples_of_pytorch() -> None:
    counts = compare_samples(["nn.functional.pad"], most=60)
    assert counts.keys() >= PADDINGS
    counts = compare_samples(["nn.functional.avg_pool1d", "nn.functional.avg_pool2d"])
    assert counts.keys() >= {"aten.avg_pool2d.default"}


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_paddings_of_any_sizes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = (torch.randn(2, 3, 4, 5, 6) * 9).to(dtype)
    with ComparedKernels(tolerance=(0, 0)) as compared:
        for rank, ends in itertools.product((1, 2, 3), ((3, 2), (0, 1), (-2, 3), (-1, -2), (0, 0))):
            for each in (x[0, 0] if rank == 1 else x[0], x[:0].flatten(0, 3 - rank)):
                getattr(aten, f"reflection_pad{rank}d")(each, ends * rank)
                getattr(aten, f"replication_pad{rank}d")(each, ends * rank)
        aten.replication_pad1d(x[0, 0], (9, 12))
    assert compared.counts.keys() == PADDINGS


@pytest.mark.parametrize("dtype", FLOATS)
def test_means_of_windows(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 9)
    x[0, 0, 1, 2], x[0, 1, 0, 0], x[1, 2, 3, 3] = math.nan, math.inf, -math.inf
    with ComparedKernels() as compared:
        for each in (x.to(dtype), x[0].to(dtype), x[:0].to(dtype), x.to(dtype).transpose(2, 3)):
            for ceil, counts_padding in itertools.product((False, True), (False, True)):
                aten.avg_pool2d(each, [3, 2], [2, 3], [1, 1], ceil, counts_padding)
                aten.avg_pool2d(each, [2], [], [0], ceil, counts_padding)
                aten.avg_pool2d(each, [3, 5], [1, 1], [0, 2], ceil, counts_padding)
            aten.avg_pool2d(each, [2], [], [0], False, True, -5)
            aten.avg_pool2d(each.flatten(-2).unsqueeze(-2), [1, 4], [1, 3], [0, 2])
    assert compared.counts == {"aten.avg_pool2d.default": 56}


def test_means_of_integers() -> None:
    x = torch.randint(-50, 50, (2, 6, 7))
    with ComparedKernels() as compared:
        aten.avg_pool2d(x, [2, 3], [1, 2])
        aten.avg_pool2d(x, [3], [2], [1], True, False)
    assert compared.counts == {"aten.avg_pool2d.default": 2}


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("reflection_pad1d", [torch.ones(1, 3), (3, 0)], "of 3 elements is padded by 3"),
        ("reflection_pad1d", [torch.ones(1, 3), (-2, -1)], "is padded to 0"),
        ("reflection_pad1d", [torch.ones(1, 3), (-4, 2)], "is padded by -4"),
        ("reflection_pad2d", [torch.ones(1, 3), (1, 1)], "has 2 dimensions, of which 2 ends"),
        ("replication_pad1d", [torch.ones(1, 0), (1, 1)], "of 0 elements"),
        ("replication_pad1d", [torch.ones(1, 3), (2**40, 0)], f"is padded by {2**40}"),
    ],
)
def test_paddings_that_are_none_are_refused(
    name: str, arguments: list[object], reason: str
) -> None:
    out = torch.zeros(1, 9)
    with pytest.raises(EngineError, match=f"{name}.*{reason}"):
        _core.call_operator(f"polystate_faster::{name}.out", [*arguments, out], 1)
    assert not out.any()


def test_windows_of_too_many_elements_are_refused() -> None:
    out = torch.zeros(1, 3, 3, 3, dtype=torch.int64)
    x, size = torch.ones(1, 2, 2, 2, dtype=torch.int64), 2**30
    call = [x, (size,), (1,), (size // 2,), False, True, None, out]
    with pytest.raises(EngineError, match=r"avg_pool3d.*more elements than an int64 counts"):
        _core.call_operator("aten::avg_pool3d.out", call, 1)
    assert not out.any()


def test_windows_that_are_none_are_refused() -> None:
    for size, stride, padding, divisor, reason in (
        ((0,), (1,), (0,), None, "argument 1 has 0"),
        ((2,), (1,), (2,), None, "more padding than half a window"),
        ((5,), (1,), (0,), None, "a plane is smaller than a window"),
        ((2,), (1,), (0,), 0, "divisor_override is 0"),
    ):
        out = torch.zeros(1, 3, 3)
        call = [torch.ones(1, 4, 4), size, stride, padding, False, True, divisor, out]
        with pytest.raises(EngineError, match=f"avg_pool2d.*{reason}"):
            _core.call_operator("polystate_faster::avg_pool2d.out", call, 1)
        assert not out.any()
