"""Corrections of AOTInductor that hold while a method is compiled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch._inductor import compile_fx
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler

from polystate.export.lowering import inductor_fixes, inductor_histograms
from polystate.export.lowering.inductor_upsampling import cubic, of_filtered_elements, triangle

aten = torch.ops.aten


def test_the_table_of_result_types_is_filled_once() -> None:
    with inductor_fixes.applied(()):
        handler = DtypePropagationOpsHandler()
        add = handler.add = lambda *_: torch.int8
        assert DtypePropagationOpsHandler().add is add
    assert DtypePropagationOpsHandler().add is not add


@pytest.mark.parametrize("scale", [None, 0.3, 0.7, 1.0, 1.3, 2.5])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize(
    ("resize", "filter_", "reach"),
    [(aten._upsample_bilinear2d_aa, triangle, 1), (aten._upsample_bicubic2d_aa, cubic, 2)],
    ids=["bilinear", "bicubic"],
)
def test_images_are_resized_without_aliasing(
    resize: torch._ops.OpOverloadPacket,
    filter_: Callable[[Tensor], Tensor],
    reach: int,
    align_corners: bool,
    scale: float | None,
) -> None:
    """The results equal those of PyTorch's kernels; images of one column have another test."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, 40, dtype=torch.float64)
    if scale is None:  # where no weight is 0 but for rounding: that of an infinity is seen
        x[0, 1, 5, 6], x[1, 0, 8, 0] = float("inf"), float("nan")
    written = of_filtered_elements(filter_, reach)
    sizes = [(9, 40), (12, 40), (9, 4), (1, 3), (2, 55), (20, 41), (4, 2)]
    for size in sizes if scale is None else [(int(9 * scale), int(40 * scale))]:
        for layout in (torch.contiguous_format, torch.channels_last):
            given = x.contiguous(memory_format=layout)
            right = resize(given, size, align_corners, scale, scale)
            found = written(given, size, align_corners, scale, scale)
            torch.testing.assert_close(found, right, equal_nan=True)
            assert found.stride() == right.stride()


def test_one_column_has_all_its_rows() -> None:
    """PyTorch's kernels repeat the first row there, but compute the transposed image."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, 7)
    found = of_filtered_elements(triangle, 1)(x, (5, 1), False)
    torch.testing.assert_close(found, aten._upsample_bilinear2d_aa(x.mT, (1, 5), False).mT)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_points_between_edges_are_counted(weighted: bool, density: bool) -> None:
    torch.manual_seed(0)
    edges = [torch.tensor([-1.0, 0.0, 0.25, 1.5]), torch.tensor([-2.0, 0.5, 0.5, 3.0])]
    points = torch.randn(5, 8, 2)
    points[0, 0], points[0, 1] = torch.tensor([-1.0, 3.0]), torch.tensor([1.5, -2.0])
    points[0, 2, 0], points[0, 3, 1], points[0, 4, 0] = float("nan"), float("inf"), 0.25
    weight = torch.rand(5, 8) if weighted else None
    right = torch.histogramdd(points, edges, weight=weight, density=density).hist
    found = inductor_histograms.of_edges(points, edges, weight=weight, density=density)
    torch.testing.assert_close(found, right, equal_nan=True)
    assert 0 < torch.count_nonzero(found) < found.numel()
    with pytest.raises(RuntimeError, match="fewer than two edges"):
        inductor_histograms.of_edges(points, [edges[0], edges[1][:1]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_floats_of_16_bits_are_interpolated_with_one_rounding(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, end, weight = (torch.randn(1000).to(dtype) for _ in range(3))
    with inductor_fixes.applied(()):
        table = compile_fx.select_decomp_table()
    torch.testing.assert_close(table[aten.lerp.Scalar](x, end, 0.3), x.lerp(end, 0.3))
    limits = {} if dtype == torch.float32 else {"rtol": 0.0, "atol": 0.0}
    for each in (weight, torch.tensor(0.3)):
        found, right = table[aten.lerp.Tensor](x, end, each), x.lerp(end, each)
        torch.testing.assert_close(found, right, **limits)
