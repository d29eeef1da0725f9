"""Programs call kernels of this project where ExecuTorch's compute otherwise than PyTorch's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps

NAN = float("nan")


class Statistics(nn.Module):
    """Sums of float64, powers of integers, and functions that keep NaN."""

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.sum(0), x.mean((0, 1), keepdim=True), torch.remainder(x, 0.1)

    def variances(self, x: Tensor, short: Tensor) -> tuple[Tensor, ...]:
        planes = x.view(10, 100, -1)
        return (
            x.var(0), x.var(1, correction=0), x.std(), planes.var((0, 2)), planes.var((0, 1)),
            planes.var(1, keepdim=True), x[:1].var(0), x[:0].var(0), short.var(0), short.std(1),
        )  # fmt: skip

    single_variances = variances

    def powers(self, base: Tensor, exponent: Tensor) -> tuple[Tensor, Tensor]:
        return base**exponent, torch.pow(3, exponent)

    def pooled(self, image: Tensor, grid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sampled = nn.functional.grid_sample(image, grid, mode="bicubic", align_corners=False)
        largest, places = nn.functional.max_pool2d(image, 2, padding=1, return_indices=True)
        return largest, places, sampled

    def chosen(self, x: Tensor, is_sum: Tensor) -> Tensor:
        return torch.cond(is_sum, lambda x: x.sum(1), lambda x: x.mean(1), (x,))


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_what_they_compute_is_what_pytorch_does(backend: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(1000, 3, dtype=torch.float64) + 1e6
    base, exponent = torch.randint(-3, 4, (50,)), torch.randint(-2, 50, (50,))
    image, grid = torch.randn(1, 2, 5, 6), torch.randn(1, 3, 4, 2)
    image[0, 0, 1, 2], image[0, 1, 0, 0] = NAN, -torch.inf
    calls = {
        "moments": [(x,)],
        "variances": [(x, (x - 1e6).half())],
        "single_variances": [
            ((x - 1e6).float() + 1e3, (x - 1e6).bfloat16()),
            ((x - 1e6).float(), torch.full(x.shape, torch.finfo(torch.bfloat16).min).bfloat16()),
        ],
        "powers": [(base, exponent)],
        "pooled": [(image, grid)],
        "chosen": [(x, torch.tensor(True)), (x, torch.tensor(False))],
    }
    model = Statistics()
    methods = {name: ps.Method(name, examples[0]) for name, examples in calls.items()}
    program = ps.export(model, methods, backend=backend, draws=ps.Draws(count=0))
    session = ps.load(program.save(tmp_path / "artifact")).session()
    for name, examples in calls.items():
        for example in examples:
            given = getattr(model, name)(*example)
            rights = given if isinstance(given, tuple) else (given,)
            for found, right in zip(session.run(name, *example), rights, strict=True):
                torch.testing.assert_close(torch.as_tensor(found), right, equal_nan=True)
