"""Kernels that resample dimensions give what PyTorch's do."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import ComparedKernels, compare_samples

aten = torch.ops.aten
NEAREST = (
    aten.upsample_nearest1d,
    aten.upsample_nearest2d,
    aten.upsample_nearest3d,
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d,
)
WEIGHTED = (
    aten.upsample_linear1d,
    aten.upsample_bilinear2d,
    aten.upsample_trilinear3d,
    aten.upsample_bicubic2d,
)
SMOOTH = (aten._upsample_bicubic2d_aa,)
SIZES = [(1, 1, 1), (5, 7, 4), (10, 3, 8), (6, 12, 5), (13, 2, 4)]


def _rank(operator: torch._ops.OpOverloadPacket) -> int:
    return next(n for n in (1, 2, 3) if f"{n}d" in str(operator))


def test_samples_of_pytorch() -> None:
    dtypes = (torch.float32, torch.float64, torch.uint8)
    counts = compare_samples(["nn.functional.interpolate"], dtypes, most=10)
    assert len(counts) >= 8


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8]
)
def test_all_sizes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 5, 6, 4)
    x = (x * 50 + 120).clamp(0, 255).to(dtype) if dtype == torch.uint8 else x.to(dtype)
    # Of 16 bits, PyTorch rounds some steps.
    tolerance = (8 * torch.finfo(dtype).eps,) * 2 if dtype.itemsize == 2 else None
    with ComparedKernels(tolerance) as compared:
        for size in SIZES:
            for operator in NEAREST:
                rank = _rank(operator)
                operator(x[(..., *[0] * (3 - rank))], size[:rank])
            for operator, aligned in itertools.product((*WEIGHTED, *SMOOTH), (False, True)):
                rank = _rank(operator)
                if dtype == torch.uint8 and rank != 2:
                    continue
                if operator in SMOOTH and dtype.itemsize == 2:
                    continue
                operator(x[(..., *[0] * (3 - rank))], size[:rank], aligned)
                given = [n * 1.1 for n in (1.5, 0.7, 2.3)[:rank]]
                sizes = [int(n * s) for n, s in zip(x.shape[2:], given, strict=False)]
                operator(x[(..., *[0] * (3 - rank))], sizes, aligned, *given)
    assert len(compared.counts) >= len(NEAREST) + (2 if dtype == torch.uint8 else 4)


def test_odd_numbers() -> None:
    x = torch.arange(48.0).reshape(1, 2, 4, 6)
    x[0, 0, 1, 1], x[0, 1, 2, 3], x[0, 1, 0, 0] = math.nan, math.inf, -math.inf
    with ComparedKernels() as compared:
        for size in ((4, 6), (8, 12), (2, 3), (5, 5)):
            for operator in (*NEAREST, *WEIGHTED):
                if _rank(operator) == 2:
                    operator(x, size, *([True] if operator in WEIGHTED else []))
                    operator(x[:0], size, *([True] if operator in WEIGHTED else []))
            aten._upsample_bicubic2d_aa(x, size, False)
    assert compared.counts


@pytest.mark.parametrize(
    ("size", "scales", "reason"),
    [
        ((0, 4), (None, None), "a size is not positive"),
        ((-1, 4), (None, None), "a size is not positive"),
        ((4,), (None, None), "another number of dimensions"),
        ((400, 400), (1e-9, 1e-9), "a scale is far from that of the sizes"),
    ],
)
def test_sizes_that_are_none_are_refused(
    size: tuple[int, ...], scales: tuple[float | None, float | None], reason: str
) -> None:
    x, out = torch.ones(1, 1, 400, 400), torch.zeros(1, 1, 400, 400)
    with pytest.raises(EngineError, match=rf"_upsample_bicubic2d_aa.*{reason}"):
        _core.call_operator("aten::_upsample_bicubic2d_aa.out", [x, size, False, *scales, out], 1)
    assert not out.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
def test_scales_that_are_not_those_of_the_sizes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    smooth = (*SMOOTH, aten._upsample_bilinear2d_aa)
    operators = (*NEAREST, *WEIGHTED, *smooth)
    with ComparedKernels((2e-4, 2e-3)) as compared:  # a place is off by a float's rounding
        for shape, sizes in (((4, 60), (4, 60)), ((4, 5), (8, 10)), ((4, 150), (4, 150))):
            x = (torch.rand(1, 2, 3, *shape) * 255).to(dtype)
            for operator in operators:
                rank = _rank(operator)
                if dtype == torch.uint8 and operator not in NEAREST and rank != 2:
                    continue
                if operator in smooth and sizes != shape:
                    continue  # PyTorch reads what lies behind its windows
                given = (x[:, :, 0] if rank == 2 else x[:, :, 0, 0]) if rank < 3 else x
                own = [3, *sizes][-rank:]
                aligned = [] if operator in NEAREST else [False]
                for scale in (1.2, 2.1):
                    operator(given, own, *aligned, *[scale] * rank)
    assert len(compared.counts) >= 10
