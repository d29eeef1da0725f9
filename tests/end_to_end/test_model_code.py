"""Lines that usual models have, with sizes that vary, give what eager PyTorch gives."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import BACKENDS, ENGINES, Twins

ODD = torch.tensor([0.0, -0.0, 1.0, -1.0, torch.inf, -torch.inf, 1e-3, -1e-3])


class Model(nn.Module):
    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.linear = nn.Linear(4, 3)
        self.convolution = nn.Conv2d(2, 3, 3, padding=1)

    def masked(self, x: Tensor) -> tuple[Tensor, ...]:
        """Reads and writes by masks of elements and of rows."""
        self.calls.add_(1)
        y, z, w = x.clone(), x.clone(), (x * 3).to(torch.int64)
        rows = x[:, 0] > 0
        y[x > 0.5] = 3
        y[rows] = y[rows] * 2 + 1
        z[rows] = torch.tensor([1.0, 2.0, 3.0, 4.0])
        z[x < -1] = torch.tensor([[-7.0]])
        w[x > 0] = 2.7
        return x[x > 0], y, z, w, x[rows, 1]

    def beside(self, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        """Reads and writes by masks beside other indices."""
        rows, columns = x[:, 0] > 0, x[0] > 0
        y, z, w, v = x.clone(), x.clone(), x.clone(), x.clone()
        y[rows, 1] = 3
        z[rows, places[rows]] = 5
        w[:, columns] = -1
        v[rows, 2] = x[rows, 0]
        read = x[rows, places[rows]], x[rows, :, None], x[:, columns], x[..., columns, None]
        return *read, y, z, w, v

    def normalized(self, x: Tensor) -> Tensor:
        """Keeps the mean of a series and its deviation, and puts them back (RevIN)."""
        self.mean = x.mean(1, keepdim=True).detach()
        self.deviation = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5).detach()
        y = self.linear((x - self.mean) / self.deviation)
        return y * self.deviation[..., :3] + self.mean[..., 1:]

    def windows(self, x: Tensor) -> Tensor:
        """Divides into windows of 3, joins them, and cuts off what was added (Swin)."""
        rows, columns = x.shape[1:3]
        x = functional.pad(x, (0, 0, 0, (3 - columns % 3) % 3, 0, (3 - rows % 3) % 3))
        batch, height, width, channels = x.shape
        x = x.view(batch, height // 3, 3, width // 3, 3, channels).permute(0, 1, 3, 2, 4, 5)
        x = torch.softmax(x.contiguous().view(-1, 9, channels), 1)
        x = x.view(batch, height // 3, width // 3, 3, 3, channels).permute(0, 1, 3, 2, 4, 5)
        return self.linear(x.reshape(batch, height, width, channels)[:, :rows, :columns])

    def periods(self, x: Tensor) -> Tensor:
        """Convolves a series of which a period is a row (TimesNet)."""
        x = x[:, : x.shape[1] // 4 * 4].reshape(x.shape[0], -1, 4, 2).permute(0, 3, 1, 2)
        return self.convolution(x)

    def amplitudes(self, x: Tensor) -> Tensor:
        z = +torch.fft.rfft(x, dim=1)
        z **= 2
        return abs(z).mean(0)

    def loss(self, x: Tensor) -> tuple[Tensor, ...]:
        wide, target = x.double(), x.argmax(-1)
        weight = torch.linspace(0.5, 1, 4, dtype=torch.float64)
        return (
            functional.cross_entropy(wide, target),
            functional.cross_entropy(wide, target, weight, reduction="none"),
            functional.cross_entropy(x, target, ignore_index=1, reduction="sum"),
            functional.cross_entropy(x, x.softmax(-1), label_smoothing=0.1),
        )

    def likelihood(self, x: Tensor) -> tuple[Tensor, Tensor]:
        normal = torch.distributions.Normal(x, x.exp() + 0.1)
        chosen = torch.distributions.Categorical(logits=x)
        return normal.log_prob(x.data + 0.5), chosen.log_prob(x.argmax(-1))

    def codes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 1, 2, 3])
        return (
            torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127),
            torch.fake_quantize_per_channel_affine(x, scales, zeros.int(), 1, -8, 7),
        )

    def integers(self, x: Tensor) -> tuple[Tensor, ...]:
        small = x.to(torch.uint8)
        bits = (x.unsqueeze(-1) >> torch.arange(8)) & 1
        return (
            (bits * (2 ** torch.arange(8))).sum(-1),
            (-3) ** (x.abs() % 30),
            small.any() * 200 + 100,
            small.any(1),
            small.all(1),
            x.all(1),
        )


def resized(shape: tuple[int, ...], dims: dict[int, Dim], sizes: tuple[int, ...]) -> list[int]:
    found = list(shape)
    for dim, size in zip(dims, sizes, strict=True):
        found[dim] = size
    return found


B = Dim("batch", min=1, max=6)
CASES = {
    "normalized": ((2, 5, 4), {0: B}, [(1,), (6,), (3,)]),
    "masked": ((5, 4), {0: B}, [(1,), (6,), (3,)]),
    "windows": (
        (2, 7, 8, 4),
        {0: Dim("b", min=1, max=3), 1: Dim("h", min=4, max=10), 2: Dim("w", min=4, max=11)},
        [(1, 4, 4), (3, 10, 11), (2, 9, 6)],
    ),
    "periods": ((2, 10, 2), {0: B, 1: Dim("time", min=4, max=16)}, [(1, 4), (6, 16), (2, 7)]),
    "amplitudes": ((2, 12, 3), {0: B}, [(1,), (6,)]),
    "loss": ((3, 4), {0: B}, [(1,), (6,)]),
    "likelihood": ((3, 4), {0: B}, [(1,), (6,)]),
    "codes": ((3, 4), {0: B}, [(1,), (6,)]),
}


@pytest.mark.parametrize("backend", ENGINES)
def test_lines_of_models(tmp_path: Path, backend: str) -> None:
    methods = {
        name: ps.Method(name, (torch.randn(shape),), dynamic_shapes=(dims,))
        for name, (shape, dims, _) in CASES.items()
    }
    twins = Twins(Model().eval(), methods, tmp_path, backend)
    for name, (shape, dims, sizes) in CASES.items():
        for each in itertools.chain(sizes, reversed(sizes)):
            twins.call(name, torch.randn(resized(shape, dims, each)) * 2)


@pytest.mark.parametrize("backend", ENGINES)
def test_masks_beside_other_indices(tmp_path: Path, backend: str) -> None:
    arguments = torch.randn(5, 4), torch.randint(0, 4, (5,))
    methods = {"beside": ps.Method("beside", arguments, dynamic_shapes=({0: B}, {0: B}))}
    twins = Twins(Model().eval(), methods, tmp_path, backend)
    for count in (1, 6, 3):
        twins.call("beside", torch.randn(count, 4), torch.randint(0, 4, (count,)))


@pytest.mark.parametrize("backend", ENGINES)
def test_powers_and_truth_of_integers(tmp_path: Path, backend: str) -> None:
    x = torch.randint(-100, 100, (4, 3))
    methods = {"integers": ps.Method("integers", (x,), dynamic_shapes=({0: B},))}
    twins = Twins(Model(), methods, tmp_path, backend)
    for count in (1, 6):
        twins.call("integers", torch.randint(-100, 100, (count, 3)))
        twins.call("integers", torch.zeros(count, 3, dtype=torch.int64))


class Signs(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        size, negative = x.abs(), -x
        ones = torch.ones_like(x)
        return 1 / size, 1 / negative, torch.atan2(ones, negative), torch.copysign(ones, -size)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_zeros_have_the_signs_of_pytorch(tmp_path: Path, backend: str, dtype: torch.dtype) -> None:
    x = ODD.to(dtype)
    twins = Twins(Signs(), {"forward": ps.Method("forward", (x,))}, tmp_path, backend)
    twins.call("forward", x)
    twins.call("forward", -x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_usual_images_are_resized(tmp_path: Path, mode: str) -> None:
    """At their ends places in an image are rounded to more than a thousandth of a pixel."""

    class Resized(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return functional.interpolate(x, scale_factor=1.5, mode=mode)

    x = torch.randn(1, 1, 8, 640)
    model = ps.export(Resized(), {"forward": ps.Method("forward", (x,))}, draws=ps.Draws(count=0))
    session = ps.load(model.save(tmp_path / "artifact")).session()
    torch.testing.assert_close(session.run("forward", x)[0], Resized()(x), rtol=1e-3, atol=1e-3)


def test_a_distribution_checks_its_arguments(tmp_path: Path) -> None:
    class Likely(nn.Module):
        def forward(self, x: Tensor, scale: Tensor) -> Tensor:
            return torch.distributions.Normal(x, scale).log_prob(x)

        def chosen(self, x: Tensor) -> Tensor:  # traced by Dynamo, which would end the checks
            return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    x = torch.randn(3)
    methods = {"chosen": ps.Method("chosen", (x,)), "forward": ps.Method("forward", (x, x.exp()))}
    session = ps.load(ps.export(Likely(), methods).save(tmp_path / "artifact")).session()
    with pytest.raises(ps.Error, match="outside its support"):
        session.run("forward", torch.randn(3), torch.tensor([1.0, -1.0, 1.0]))
    torch.testing.assert_close(
        session.run("forward", x, torch.ones(3))[0], Likely()(x, torch.ones(3))
    )
