"""Operators that AOTInductor computes otherwise than PyTorch unless an export corrects it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.support.exported_models import exported


def session_of(
    model: nn.Module, example: tuple[torch.Tensor, ...], folder: Path, **method: Any
) -> ps.Session:
    program = exported(model, {"forward": ps.Method("forward", example, **method)}, "aoti")
    return ps.load(program.save(folder / "artifact"), trust_code=True).session()


class Remainders(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(37))

    def forward(self, x, y, i):
        self.last.copy_(x % y)
        return x.double() % y.double(), x.half() % y.half(), i % (i.flip(0) + 1), 5.0 % y, x % 0.3


def test_remainders_of_vectors_have_no_rounding_error(tmp_path):
    x, i = 100 * torch.randn(37), torch.arange(1, 38)
    x[:4] = torch.tensor([math.nan, -0.0, math.inf, 3.0])
    model = Remainders()
    session = session_of(model, (x, x.flip(0), i), tmp_path)
    for size in (1e-3, 1.0, 1e3):
        y = size * torch.randn(37)
        y[2:6] = torch.tensor([0.0, -0.0, math.inf, -math.inf])
        found, expected = session.run("forward", x, y, i), model(x, y, i)
        pairs = zip([*found, session.state["last"]], [*expected, model.last], strict=True)
        for remainder, right in pairs:
            torch.testing.assert_close(remainder, right, rtol=0, atol=0, equal_nan=True)


class Extremes(nn.Module):
    def forward(self, x):
        cosines = x.acosh(), x.double().square().acosh(), x.half().acosh(), x.bfloat16().acosh()
        return *cosines, x * 0, 0 * x.double(), nn.functional.softshrink(x)


def test_large_numbers_infinities_and_nan_are_computed_with(tmp_path):
    x = torch.logspace(-1, 38.5, 61)
    x[:5] = torch.tensor([math.nan, math.inf, -math.inf, 1.0, -2.0])
    session = session_of(Extremes(), (x,), tmp_path)
    for found, right in zip(session.run("forward", x), Extremes()(x), strict=True):
        torch.testing.assert_close(found, right, equal_nan=True)


class Windows(nn.Module):
    def forward(self, x, grid):
        images = x[None, None]
        volumes = x.reshape(1, 1, 2, 6, 8)
        return (
            *nn.functional.max_pool2d(images, 2, return_indices=True),
            *nn.functional.max_pool3d(volumes, 2, return_indices=True),
            nn.functional.max_pool2d(images, 3),
            *nn.functional.adaptive_max_pool2d(images, (5, 3), return_indices=True),
            nn.functional.grid_sample(images, grid),
            *torch.var_mean(x[:0], correction=0),
        )


class VaryingWindows(nn.Module):
    def forward(self, x):
        return (
            nn.functional.adaptive_avg_pool2d(x, (5, 3)),
            nn.functional.adaptive_avg_pool2d(x.mT, (3, 5)),
            nn.functional.adaptive_avg_pool1d(x[0], 4),
            nn.functional.adaptive_max_pool2d(x, (5, 3)),
            nn.functional.adaptive_max_pool2d(x, (2, 6), return_indices=True)[1],
            nn.functional.adaptive_max_pool1d(x[0].mT, 5),
            nn.functional.interpolate(x, (7, 5), mode="nearest"),
            nn.functional.interpolate(x, (7, 5), mode="nearest-exact"),
            nn.functional.interpolate(x, (7, 5), mode="area"),
        )


def test_pools_of_sizes_that_vary_have_the_windows_of_each_size(tmp_path):
    size = Dim("size", min=1, max=13)
    shapes = {"x": {2: size}}
    x = torch.randn(2, 3, 10, 6)
    session = session_of(VaryingWindows(), (x,), tmp_path, dynamic_shapes=shapes)
    for rows in (1, 2, 5, 7, 11, 13):
        x = torch.randn(2, 3, rows, 6)
        found = session.run("forward", x)
        for value, right in zip(found, VaryingWindows()(x), strict=True):
            torch.testing.assert_close(value, right)


class Numbers(nn.Module):
    """A number of 64 bits that is read from a tensor, and a kernel that has no C form."""

    def forward(self, x, i, rows):
        number = x.item()
        scaled = rows.double() * number
        return number, scaled, rows * number, torch.zeros(4, 8).bfloat16().index_add(0, i, rows)


def test_numbers_that_are_read_have_64_bits_and_rows_of_bfloat16_are_added(tmp_path):
    torch.manual_seed(0)
    x, i = torch.tensor(0.1234567890123, dtype=torch.float64), torch.tensor([3, 0, 3])
    given = (x, i, torch.randn(3, 8).bfloat16())
    session = session_of(Numbers(), given, tmp_path)
    for factor in (1, -1e5):
        given = (x * factor, *given[1:])
        found, expected = session.run("forward", *given), list(Numbers()(*given))
        expected[0] = torch.tensor(expected[0], dtype=torch.float64)
        for value, right in zip(found, expected, strict=True):
            torch.testing.assert_close(value, right)


class Corner(nn.Module):
    """Sets one element of what is computed to a number, as tables of relative positions do."""

    def forward(self, x):
        table = torch.zeros(4, 4, dtype=torch.int64)
        table[1:, 1:] = x.sum(-1).long()[:1]
        table[0, 0:] = 3
        table[0:, 0] = torch.tensor(4)
        table[0, 0] = 9
        return table


def test_an_element_of_a_tensor_is_set_to_a_number(tmp_path):
    x = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
    session = session_of(Corner(), (x,), tmp_path)
    for given in (x, -x):
        (found,) = session.run("forward", given)
        torch.testing.assert_close(torch.as_tensor(found), Corner()(given))


class Upsampled(nn.Module):
    """Sizes that grow, that stay, and that stay although a scale is given."""

    def forward(self, x):
        images, volumes = x[None, None], x.reshape(1, 1, 2, 6, 8)
        return (
            nn.functional.interpolate(images, scale_factor=2.5, mode="bilinear"),
            nn.functional.interpolate(images, size=(24, 8), mode="bilinear"),
            nn.functional.interpolate(images, size=(5, 20), mode="bilinear", align_corners=True),
            nn.functional.interpolate(x[None], scale_factor=1.1, mode="linear"),
            nn.functional.interpolate(x[None], size=8, mode="linear"),
            nn.functional.interpolate(volumes, scale_factor=(2, 1, 1.5), mode="trilinear"),
            nn.functional.interpolate(images.half(), scale_factor=1.5, mode="bilinear"),
        )


def test_neighbours_are_weighed_as_by_pytorchs_kernels(tmp_path):
    torch.manual_seed(0)
    x = torch.randn(12, 8)
    session = session_of(Upsampled(), (x,), tmp_path)
    odd = x.clone()
    odd[11, 6:], odd[3, 4], odd[0, 7] = math.inf, -math.inf, math.nan
    for given in (x, odd):
        for value, right in zip(session.run("forward", given), Upsampled()(given), strict=True):
            torch.testing.assert_close(value, right, equal_nan=True)


class Smoothed(nn.Module):
    """Resizes, mostly without aliasing: to sizes that vary, to one row of one, and by a scale."""

    def forward(self, x):
        half = {"size": (x.shape[2] // 2 + 1, 5), "mode": "bilinear", "align_corners": True}
        return (
            nn.functional.interpolate(x, antialias=True, **half),
            nn.functional.interpolate(x, None, (1.3, 0.4), "bicubic", antialias=True),
            nn.functional.interpolate(x, **half),
        )


def test_images_are_resized_without_aliasing_as_by_pytorchs_kernels(tmp_path):
    torch.manual_seed(0)
    sizes = {"x": {2: Dim("height", min=1, max=12)}}
    session = session_of(Smoothed(), (torch.randn(2, 3, 9, 7),), tmp_path, dynamic_shapes=sizes)
    for height in (1, 4, 12):
        x = torch.randn(2, 3, height, 7)
        odd = x.clone()
        odd[0, 0, 0, 6], odd[0, 1, -1, 2], odd[1, 1, height // 2, 0] = math.inf, -math.inf, math.nan
        for given in (x, odd):
            for value, right in zip(session.run("forward", given), Smoothed()(given), strict=True):
                torch.testing.assert_close(value, right, equal_nan=True)


def test_nan_has_a_place_in_a_window_and_none_in_an_image(tmp_path, monkeypatch):
    monkeypatch.setenv("CI", "true")  # by which AOTInductor would refuse what is kept whole
    torch.manual_seed(0)
    x, grid = torch.randn(12, 8), 2 * torch.rand(1, 4, 5, 2) - 1
    session = session_of(Windows(), (x, grid), tmp_path)
    x[2, 2:4], x[11, 6:], grid[0, 1, 2, 0] = math.nan, math.inf, math.nan
    found = session.run("forward", x, grid)
    for value, right in zip(found, Windows()(x, grid), strict=True):
        torch.testing.assert_close(value, right, equal_nan=True)
