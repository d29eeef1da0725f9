"""Operators of neural networks that ExecuTorch has no kernels of, exported and called."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import BACKENDS, Twins


class Volumes(nn.Module):
    """Convolutions, pools and samples of volumes, which it counts."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv3d(4, 6, (2, 3, 3), (1, 2, 1), 1, groups=2)
        self.second = nn.ConvTranspose3d(6, 4, 3, (2, 1, 2), 1, (1, 0, 1), dilation=(2, 1, 1))
        self.register_buffer("count", torch.zeros(()))

    def pools(self, x: torch.Tensor) -> list[torch.Tensor]:
        self.count += 1
        x = self.first(x)
        most, places = functional.max_pool3d(x, 2, 1, 1, (1, 2, 1), True, return_indices=True)
        return [
            self.second(x),
            most,
            places,
            functional.avg_pool3d(x, (2, 1, 3), 2, (1, 0, 1), True, False),
            functional.adaptive_avg_pool3d(x, (3, 2, 1)),
            functional.adaptive_max_pool3d(x, (2, 3, 4)),
            functional.adaptive_max_pool2d(x[:, :, 0], 3),
            functional.adaptive_max_pool1d(x[:, :, 0, 0], 3),
        ]

    def samples(self, x: torch.Tensor, grid: torch.Tensor) -> list[torch.Tensor]:
        self.count += x.sum()
        plane = x[:, :, 0]
        return [
            functional.grid_sample(x, grid, padding_mode="reflection", align_corners=False),
            functional.grid_sample(x, grid, mode="nearest", align_corners=True),
            functional.interpolate(x, scale_factor=1.6, mode="trilinear"),
            functional.interpolate(x, (3, 4, 9), mode="nearest-exact"),
            functional.interpolate(plane, (7, 3), mode="bicubic"),
            functional.interpolate(plane, (3, 11), mode="bicubic", antialias=True),
            functional.interpolate(plane, (3, 11), mode="bilinear", antialias=True),
            functional.interpolate(plane[:, :, 0], scale_factor=0.7, mode="linear"),
        ]


class Bags(nn.Module):
    """Bags of embeddings, and sums of products."""

    def __init__(self) -> None:
        super().__init__()
        self.sums = nn.EmbeddingBag(11, 3, mode="sum", padding_idx=2)
        self.means = nn.EmbeddingBag(11, 3, mode="mean", include_last_offset=True)
        self.register_buffer("total", torch.zeros(2, 3))

    def forward(
        self, words: torch.Tensor, begins: torch.Tensor, batch: torch.Tensor
    ) -> list[torch.Tensor]:
        self.total.addbmm_(batch, batch.transpose(1, 2) @ torch.ones(5, 2, 3), beta=0.5)
        return [
            self.sums(words, begins),
            self.sums(words.view(2, 4)),
            self.means(words, begins),
            torch.addmv(torch.ones(2), batch[0], torch.arange(4.0), beta=2, alpha=0.5),
            functional.pad(batch, (-1, 2, 1, -1), value=0.5),
        ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_volumes(backend: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, grid = torch.randn(2, 4, 5, 6, 7), torch.randn(2, 2, 3, 4, 3)
    rows = {0: Dim("rows", min=1, max=4)}
    methods = {
        "pools": ps.Method("pools", (x,), dynamic_shapes=(rows,)),
        "samples": ps.Method("samples", (x, grid)),
    }
    twins = Twins(Volumes(), methods, tmp_path, backend)
    for count in (1, 2, 4):
        twins.call("pools", torch.randn(count, 4, 5, 6, 7))
    twins.call("samples", x, grid)


def test_bags(tmp_path: Path) -> None:
    torch.manual_seed(0)
    words, begins = torch.tensor([1, 2, 2, 9, 10, 0, 4, 2]), torch.tensor([0, 3, 3, 8])
    batch = torch.randn(5, 2, 4)

    def draw(generator: torch.Generator, args: object, kwargs: object) -> object:
        drawn = torch.randint(0, 11, (8,), generator=generator)
        return (drawn, begins, torch.randn(5, 2, 4, generator=generator)), {}

    methods = {"forward": ps.Method("forward", (words, begins, batch), draw=draw)}
    twins = Twins(Bags(), methods, tmp_path)
    for _ in range(2):
        twins.call("forward", words, begins, batch)


class Gradients(nn.Module):
    """A pool and its gradient, and an average of doubles."""

    def forward(self, x: torch.Tensor, gradient: torch.Tensor) -> list[torch.Tensor]:
        most, places = functional.max_pool2d(x, 3, 2, return_indices=True)
        backward = torch.ops.aten.max_pool2d_with_indices_backward
        sizes = ([3, 3], [2, 2], [0, 0], [1, 1], False)
        return [
            most,
            backward(gradient, x, *sizes, places),
            functional.adaptive_avg_pool2d(x.double(), (5, 3)),
            functional.adaptive_avg_pool2d(x, (2, 4)),
        ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_pools(backend: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, gradient = torch.randn(2, 3, 7, 7), torch.randn(2, 3, 3, 3)
    twins = Twins(Gradients(), {"forward": ps.Method("forward", (x, gradient))}, tmp_path, backend)
    twins.tolerance = {"rtol": 2e-3, "atol": 1e-6}
    for _ in range(2):
        twins.call("forward", torch.randn(2, 3, 7, 7), torch.randn(2, 3, 3, 3))


class Unbatched(nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = functional.relu(functional.conv2d(x, torch.ones(4, 3, 3, 3)))
        return [
            functional.max_pool2d(y, 2),
            functional.avg_pool2d(x, 2),
            functional.max_pool1d(x[0], 2),
            functional.adaptive_avg_pool2d(y, 1),
        ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_images_without_a_batch(backend: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    methods = {"forward": ps.Method("forward", (torch.randn(3, 6, 6),))}
    twins = Twins(Unbatched(), methods, tmp_path, backend)
    twins.call("forward", torch.randn(3, 6, 6))


class Slopes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.PReLU()
        self.each = nn.PReLU(3)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        wide = x[..., None].expand(-1, -1, 2)
        return [self.one(x), self.each(x), self.each(wide), self.each(wide[..., None])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_slopes_of_tensors_of_any_rank(tmp_path: Path, backend: str) -> None:
    x = torch.tensor([[1.0, -2.0, 3.0], [-1.0, 0.0, -4.0]])
    twins = Twins(Slopes(), {"forward": ps.Method("forward", (x,))}, tmp_path, backend)
    twins.call("forward", -x)


class Padded(nn.Module):
    """Convolutions that say how they are padded by a name, folds, and cuts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.row = nn.Conv1d(2, 4, 3, padding="same")
        self.even = nn.Conv2d(2, 4, (4, 3), padding="same", dilation=2)
        self.valid = nn.Conv2d(2, 2, 3, padding="valid", groups=2)

    def convolve(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [self.row(x[:, :, 0]), self.even(x), self.valid(x)]

    def cut(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [functional.pad(x, (-1, 1)), functional.pad(x, (2, -2, -1, 0), value=3.0)]

    def fold(self, x: torch.Tensor) -> torch.Tensor:
        return functional.fold(functional.unfold(x, 3, padding=1), (6, 7), 3, padding=1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_paddings_by_name_and_less_than_nothing(tmp_path: Path, backend: str) -> None:
    x = torch.randn(1, 2, 6, 7)
    width = Dim("width", min=4, max=12)
    methods = {
        "convolve": ps.Method("convolve", (torch.randn(1, 2, 9, 9),)),
        "cut": ps.Method("cut", (x,), dynamic_shapes=({3: width},)),
        "fold": ps.Method("fold", (x,)),
    }
    twins = Twins(Padded().eval(), methods, tmp_path, backend)
    twins.call("convolve", torch.randn(1, 2, 9, 9))
    twins.call("fold", torch.randn_like(x))
    for size in (4, 12, 7):
        twins.call("cut", torch.randn(1, 2, 6, size))


class ShortFloats(nn.Module):
    """What others write, of 16-bit floats whose squares are too large for the type."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
        words, begins = torch.tensor([1, 2, 3, 0, 1]), torch.tensor([0, 3])
        return [
            functional.bilinear(x, x.flip(0), weight),
            functional.batch_norm(x * 300, None, None, training=True),
            functional.embedding_bag(words, x, begins, mode="mean"),
        ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats_are_rounded_at_the_end(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    example = (torch.randn(4, 5).to(dtype), torch.randn(3, 5, 5).to(dtype))
    twins = Twins(ShortFloats(), {"forward": ps.Method("forward", example)}, tmp_path, "portable")
    rounding = 2 * torch.finfo(dtype).eps
    twins.tolerance = {"rtol": rounding, "atol": 8 * rounding}
    twins.call("forward", torch.randn(4, 5).to(dtype) * 3, example[1])
