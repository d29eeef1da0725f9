"""Kernels that read between elements give what PyTorch's do."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import ComparedKernels, compare_samples


def test_samples_of_pytorch() -> None:
    counts = compare_samples(["grid_sampler_3d"], dtypes=(torch.float32, torch.float64))
    assert counts.keys() == {"aten.grid_sampler_3d.default"}


def test_odd_places() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 1, 5)
    grid = torch.randn(2, 3, 2, 4, 3) * 1.5
    grid[0, 0, 0, 0] = torch.tensor([-1.0, 1.0, 0.0])
    grid[1, 0, 0, 0] = torch.tensor([1e20, -1e20, 0.3])
    grid[1, 1, 0, 0] = torch.tensor([math.nan, math.inf, -math.inf])
    with ComparedKernels() as compared:
        for mode, padding, aligned in itertools.product((0, 1), (0, 1, 2), (False, True)):
            for dtype in (torch.float32, torch.float64):
                torch.ops.aten.grid_sampler_3d(x.to(dtype), grid.to(dtype), mode, padding, aligned)
            torch.ops.aten.grid_sampler_3d(x[:0], grid[:0], mode, padding, aligned)
    assert compared.counts == {"aten.grid_sampler_3d.default": 36}


def test_odd_places_of_planes() -> None:
    """Of more samples than are computed together, among them some outside and some of NaN."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 5, 7)
    x[0, 1, 2, 3], x[1, 0, 0, 0] = math.inf, math.nan
    grid = torch.randn(2, 9, 17, 2)
    grid[0, 0, :4] = torch.tensor([[-1.0, 1.0], [90.5, -33.3], [math.nan, 0.5], [0.3, -math.inf]])
    with ComparedKernels() as compared:
        for mode, padding, aligned in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
            for dtype in (torch.float32, torch.float64):
                torch.ops.aten.grid_sampler_2d(x.to(dtype), grid.to(dtype), mode, padding, aligned)
    assert compared.counts == {"aten.grid_sampler_2d.default": 36}


def test_the_last_element_of_more_than_float32_has_whole_numbers_for() -> None:
    x = torch.zeros(1, 1, 1, 2**24 + 1)
    x[..., -2:] = torch.tensor([2.0, 1.0])
    grid = torch.tensor([[1.0, 0.0], [0.9999999, 0.0], [-1.0, 0.0]]).reshape(1, 1, 3, 2)
    with ComparedKernels() as compared:
        for mode, padding, aligned in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
            torch.ops.aten.grid_sampler_2d(x, grid, mode, padding, aligned)
    assert compared.counts == {"aten.grid_sampler_2d.default": 18}


@pytest.mark.parametrize(
    ("shape", "mode", "padding", "reason"),
    [
        ((1, 2, 2, 2, 2), 0, 0, "input and grid do not fit each other"),
        ((2, 2, 2, 2, 3), 0, 0, "input and grid do not fit each other"),
        ((1, 2, 2, 2, 3), 2, 0, "no such mode"),
        ((1, 2, 2, 2, 3), 0, 3, "no such mode"),
    ],
)
def test_a_grid_or_a_mode_that_is_none_is_refused(
    shape: tuple[int, ...], mode: int, padding: int, reason: str
) -> None:
    x, grid, out = torch.ones(1, 1, 3, 3, 3), torch.zeros(shape), torch.zeros(1, 1, 2, 2, 2)
    with pytest.raises(EngineError, match=f"grid_sampler_3d.*{reason}"):
        _core.call_operator("aten::grid_sampler_3d.out", [x, grid, mode, padding, True, out], 1)
    assert not out.any()
