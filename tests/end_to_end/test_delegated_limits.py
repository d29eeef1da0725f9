"""What XNNPACK refuses or computes otherwise, alone or behind other operators of a delegate."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import BACKENDS, Twins, every_backend

IMAGES, ROWS, SIGNALS, DEEP = (2, 3, 6, 5), (2, 3), (2, 4, 9), (2, 1, 2, 1, 3, 1, 2)
BATCH = Dim("batch", min=1, max=4)


def drawn(norm: nn.Module) -> nn.Module:
    """A batch norm with statistics and weights, where it has any, that are no others'."""
    for tensor in (norm.running_mean, norm.weight, norm.bias):
        if tensor is not None:
            nn.init.normal_(tensor)
    norm.running_var.uniform_(0.5, 2)
    return norm


class Limits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 4, 2), nn.Linear(3, 4)
        self.depthwise = nn.Conv2d(3, 3, 2, groups=3)
        self.columns = nn.Linear(4, 3)
        self.grouped = nn.ConvTranspose2d(4, 6, 2, groups=2)
        self.spread = nn.ConvTranspose2d(3, 4, 3, dilation=3, output_padding=2)
        self.doubled = nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1)
        self.plain = nn.ModuleList(drawn(nn.BatchNorm2d(3, affine=False)) for _ in range(2))
        self.norms = nn.ModuleList(drawn(nn.BatchNorm2d(4)) for _ in range(2))
        self.norm_of_groups = drawn(nn.BatchNorm2d(6))
        self.norm_of_rows, self.norm_of_signals = (drawn(nn.BatchNorm1d(size)) for size in (3, 4))
        self.upper = nn.Hardtanh(0.0, 1.0)
        self.kernels = nn.ParameterList(torch.randn(4, 3, 2, 2) for _ in range(2))
        self.scale, self.offset, self.slope = (nn.Parameter(torch.randn(3)) for _ in range(3))
        self.bias = nn.Parameter(torch.randn(4))
        self.plane = nn.Parameter(torch.randn(4, 4, 2, 2))
        self.line = nn.Parameter(torch.randn(4, 4, 3))
        self.even_line = nn.Parameter(torch.randn(4, 4, 2))

    def norms_without_weights(self, x: Tensor) -> Tensor:
        first, second = self.plain
        result: Tensor = second(first(x).sigmoid())
        return result

    def norms_of_one_weight(self, x: Tensor) -> Tensor:
        for norm in self.plain:
            statistics = norm.running_mean, norm.running_var
            x = functional.batch_norm(x, *statistics, self.scale, self.offset).sigmoid()
        return x

    def convolutions_of_one_bias(self, x: Tensor) -> list[Tensor]:
        pairs = zip(self.norms, self.kernels, strict=True)
        return [norm(functional.conv2d(x, kernel, self.bias)) for norm, kernel in pairs]

    def norms_applied_twice(self, rows: Tensor, signals: Tensor) -> list[Tensor]:
        twice = self.norm_of_signals(self.norm_of_signals(signals))
        return [self.norm_of_rows(self.norm_of_rows(rows)), twice]

    def norm_behind_transposed_groups(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm_of_groups(self.grouped(self.convolution(x)))
        return result

    def activations(self, x: Tensor, y: Tensor, rows: Tensor) -> list[Tensor]:
        hardtanh, relu, relu6 = functional.hardtanh, functional.relu, functional.relu6
        return [
            hardtanh(relu(self.linear(rows)), -0.5, 0.3),
            relu(relu6(self.convolution(20 * x))),
            relu6(hardtanh(self.depthwise(3 * x), -2, 2)),
            hardtanh(relu(x + y), -0.5, 0.4),
            hardtanh(relu(x - y), -0.5, 0.4),
            relu(hardtanh(x * y)),
            relu(hardtanh(relu6(self.convolution(20 * x)), -1, 5)),
            hardtanh(relu(self.convolution(x)), -3.0, -1.0),
            relu(x).clamp(-2.0, -1.0),
        ]

    def upper_bounds(self, x: Tensor, rows: Tensor) -> list[Tensor]:
        found = self.upper(x), self.upper(self.convolution(x)), self.upper(self.linear(rows))
        return [*found, functional.hardtanh(x, -0.3), functional.hardtanh(x)]

    def bounds_in_the_wrong_order(self, x: Tensor) -> list[Tensor]:
        y = self.convolution(x)
        return [x.clamp(0.5, -0.5), y.clamp(2, 1) + 1, x.clamp(0.25, 0.25), y.clamp(0, torch.inf)]

    def softmaxes(self, x: Tensor) -> list[Tensor]:
        layers = self.convolution(x) + self.convolution(2 * x)
        return [
            self.convolution(x).softmax(-1),
            functional.max_pool2d(x, 2).softmax(-1),
            functional.avg_pool2d(x, 2).softmax(3),
            layers.relu().softmax(-1),
            (2 * functional.prelu(x, self.slope)).softmax(-1),
            self.convolution(self.columns(self.convolution(x)[:, :3].softmax(-1))),
        ]

    def places_behind_images(self, x: Tensor) -> list[Tensor]:
        y = self.convolution(x)
        return [
            torch.cat([y, y * 2], 1),
            torch.cat([y, y * 2], -1),
            y[:, 1:3] * 2,
            y[..., 1:] * 2,
            functional.pad(y, (1, 0, 2, 1), value=0.5) * 2,
            y.permute(3, 1, 0, 2) * 2,
            y.flatten(1) * 2,
            y.mean((2, 3), keepdim=True) * 2,
            y + self.bias[:, None, None],
            self.columns(y),
        ]

    def resizes(self, x: Tensor) -> list[Tensor]:
        factors = (1.3, 2, (2.0, 0.7))
        resize = functional.interpolate
        return [
            *(resize(x, scale_factor=factor, mode="bilinear") for factor in factors),
            resize(x, scale_factor=1.3, mode="bilinear", align_corners=True),
            resize(x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True),
            resize(x, (7, 3), mode="bilinear"),
        ]

    def signals(self, x: Tensor) -> list[Tensor]:
        convolve = functional.conv1d
        hidden = convolve(convolve(x, self.line, self.bias, dilation=2), self.line)
        same = convolve(x, self.line, padding="same", dilation=2)
        return [hidden, same, functional.conv_transpose1d(hidden, self.line, stride=2)]

    def signals_of_other_ends(self, x: Tensor) -> Tensor:
        hidden = functional.conv1d(x, self.even_line, padding="same")
        return functional.conv1d(hidden, self.even_line, padding="same")

    def slope_of_images_and_rows(self, x: Tensor) -> list[Tensor]:
        """One slope in a delegate and outside of it, between two parts of another."""
        rows = functional.prelu(x.flatten(2) + 1, self.slope) * 2
        return [functional.prelu(self.depthwise(x), self.slope), rows]

    def tied(self, x: Tensor) -> list[Tensor]:
        hidden = functional.conv2d(self.convolution(x), self.plane)
        return [hidden, functional.conv_transpose2d(hidden, self.plane)]

    def many_dimensions(self, x: Tensor) -> list[Tensor]:
        return [functional.relu(x * 2 + 1), torch.cat([x, -x], 4), x.sigmoid() - x]

    def pools_of_one(self, x: Tensor) -> list[Tensor]:
        mean, largest = functional.avg_pool2d, functional.max_pool2d
        return [mean(x, 1), mean(x, 1, 2) * 2, largest(x, 1) * 2, largest(x, (1, 2)), mean(x, 2)]

    def output_paddings(self, x: Tensor) -> list[Tensor]:
        return [self.spread(x), self.doubled(x)]

    def sums(self, x: Tensor, y: Tensor) -> list[Tensor]:
        count = x.shape[0]
        return [torch.add(x, y, alpha=count), torch.sub(x, y, alpha=count), torch.add(x, y)]

    def folded(self, x: Tensor, rows: Tensor) -> list[Tensor]:
        return [
            functional.relu(self.convolution(x)),
            functional.relu(self.depthwise(x)),
            functional.relu(self.linear(rows)),
            functional.relu6(self.convolution(x)),
        ]

    def logarithms(self, x: Tensor) -> list[Tensor]:
        return [x.log_softmax(0), x.log_softmax(-1), x[:, None].log_softmax(-3)]


# Methods by what goes wrong without a correction, with the shapes of their arguments.
GROUPS = {
    "batch norms": {
        "norms_without_weights": (IMAGES,),
        "norms_of_one_weight": (IMAGES,),
        "convolutions_of_one_bias": (IMAGES,),
        "norms_applied_twice": (ROWS, SIGNALS),
        "norm_behind_transposed_groups": (IMAGES,),
    },
    "activations": {
        "activations": (IMAGES, IMAGES, ROWS),
        "upper_bounds": (IMAGES, ROWS),
        "bounds_in_the_wrong_order": (IMAGES,),
    },
    "layouts": {"softmaxes": (IMAGES,), "places_behind_images": (IMAGES,)},
    "shared weights": {"signals": (SIGNALS,), "slope_of_images_and_rows": (IMAGES,)},
    "weights in two forms": {"tied": (IMAGES,), "signals_of_other_ends": (SIGNALS,)},
    "sizes": {
        "resizes": (IMAGES,),
        "many_dimensions": (DEEP,),
        "pools_of_one": (IMAGES,),
        "output_paddings": (IMAGES,),
        "sums": (IMAGES, IMAGES),
    },
}


@every_backend
@pytest.mark.parametrize("group", list(GROUPS))
def test_each_limit_leaves_pytorchs_results(tmp_path: Path, group: str, backend: str) -> None:
    torch.manual_seed(5)
    methods = {}
    for name, shapes in GROUPS[group].items():
        examples = tuple(map(torch.randn, shapes))
        methods[name] = ps.Method(name, examples)
        varying = tuple({0: BATCH} for _ in shapes)
        methods[f"{name}_of_any_batch"] = ps.Method(name, examples, dynamic_shapes=varying)
    twins = Twins(Limits().eval().requires_grad_(False), methods, tmp_path, backend)
    for name, shapes in GROUPS[group].items():
        twins.call(name, *map(torch.randn, shapes))
        for batch in (1, 2, 4):
            arguments = (torch.randn(batch, *rest) for _, *rest in shapes)
            twins.call(f"{name}_of_any_batch", *arguments)
    if backend == "xnnpack" and group in ("batch norms", "shared weights"):
        operators = twins.program.manifest.program.operators
        assert not any("convolution" in each or "batch_norm" in each for each in operators)


@every_backend
def test_folded_activations_keep_nan(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(6)
    x, rows = torch.randn(IMAGES), torch.randn(ROWS)
    methods = {"folded": ps.Method("folded", (x, rows))}
    twins = Twins(Limits().eval().requires_grad_(False), methods, tmp_path, backend)
    x[0, 1, 2, 3] = x[1, :, 0, 0] = rows[1, 2] = torch.nan
    twins.call("folded", x, rows)


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 2)
        self.norm = drawn(nn.BatchNorm2d(3))

    def forward(self, x: Tensor) -> list[Tensor]:
        return [x.softmax(-1), functional.softmin(x, -1), self.norm(x), self.norm(x + 1) * 2]

    def beside(self, x: Tensor) -> list[Tensor]:
        """A norm that is no part of a convolution's weights, since both results are used."""
        product = self.convolution(x)
        return [self.norm(product), product]

    def folded(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(self.convolution(x))
        return result


@pytest.mark.parametrize("backend", BACKENDS)
def test_float16_keeps_small_numbers_and_is_rounded_once(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(9)
    model = Halves().eval().requires_grad_(False).half()
    x = torch.randn(IMAGES).half()
    methods = {name: ps.Method(name, (x,)) for name in ("forward", "beside", "folded")}
    twins = Twins(model, methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-2, "atol": 1e-2}
    twins.call("folded", x)
    twins.call("beside", x)
    twins.tolerance = {"rtol": 1e-3, "atol": 1e-7}
    x = 4 * torch.randn(IMAGES).half()
    x[..., 0] -= 12  # whose probabilities are subnormal
    results = twins.call("forward", x)
    assert ((results[0] > 0) & (results[0] < torch.finfo(torch.float16).smallest_normal)).any()


@every_backend
def test_bounds_that_are_nan(tmp_path: Path, backend: str) -> None:
    class Clamped(nn.Module):
        def forward(self, x: Tensor) -> list[Tensor]:
            return [x.clamp(min=torch.nan) + 1, x.clamp(-1, torch.nan) * 2, x.clamp(-1, 1)]

    torch.manual_seed(7)
    methods = {"forward": ps.Method("forward", (torch.randn(3, 4),))}
    twins = Twins(Clamped(), methods, tmp_path, backend)
    twins.call("forward", torch.randn(3, 4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_logarithms_of_what_may_be_nothing(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(8)
    x = torch.randn(3, 4, dtype=torch.float64)
    varying = ({0: Dim("n", min=0, max=5)},)
    methods = {"logarithms": ps.Method("logarithms", (x,), dynamic_shapes=varying)}
    twins = Twins(Limits().eval().requires_grad_(False), methods, tmp_path, backend)
    for count in (0, 1, 5):
        twins.call("logarithms", torch.randn(count, 4, dtype=torch.float64))
    x[:, 0], x[1, 1], x[0, 2] = -torch.inf, torch.nan, torch.inf
    twins.call("logarithms", x)
