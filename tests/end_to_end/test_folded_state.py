"""State that an operator of a delegate would take for a constant: statistics, weights, biases."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Normalised(nn.Module):
    """A product and a batch norm behind it, of which `changed` is state."""

    def __init__(self, layer: nn.Module | None, norm: nn.Module, *changed: str) -> None:
        super().__init__()
        self.layer, self.norm, self.changed = layer, norm, changed
        for owner in (self.layer, self.norm):
            for name, parameter in list(owner.named_parameters()) if owner else []:
                del owner._parameters[name]
                owner.register_buffer(name, torch.randn_like(parameter))
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(x if self.layer is None else self.layer(x))
        return result

    def change(self, by: Tensor) -> None:
        for name in self.changed:
            self.get_buffer(name).add_(by)


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        mean, var = "norm.running_mean", "norm.running_var"
        self.images = nn.ModuleList(
            [
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), mean),
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), var),
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), "norm.bias"),
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), "layer.bias"),
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), "layer.weight", "norm.weight"),
                Normalised(nn.Conv2d(3, 4, 2, bias=False), nn.BatchNorm2d(4, affine=False), mean),
                Normalised(nn.ConvTranspose2d(3, 4, 2), nn.BatchNorm2d(4), mean, var),
                Normalised(nn.Conv2d(3, 3, 2, groups=3), nn.BatchNorm2d(3), mean),
                Normalised(None, nn.BatchNorm2d(3), mean, var),
                Normalised(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)),
            ]
        )
        self.rows = nn.ModuleList(
            [
                Normalised(nn.Linear(3, 4), nn.BatchNorm1d(4), mean),
                Normalised(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), var, "norm.bias"),
                Normalised(None, nn.BatchNorm1d(3), "norm.weight"),
            ]
        )
        self.register_buffer("slopes", torch.rand(3))
        self.register_buffer("offset", torch.randn(3))

    def use(self, x: Tensor) -> list[Tensor]:
        row = x[:, :, 0, 0]
        return [
            *(part(x) for part in self.images),
            *(part(row) for part in self.rows),
            functional.prelu(x, self.slopes),
            torch.addmm(self.offset, row, torch.eye(3)),
            functional.linear(row, torch.eye(3), self.offset),
        ]

    def change(self, by: Tensor) -> None:
        for part in (*self.images, *self.rows):
            part.change(by)
        self.slopes.mul_(by)
        self.offset.sub_(by)

    def use_and_change(self, x: Tensor, by: Tensor) -> list[Tensor]:
        results = self.use(x)
        self.change(by)
        return results


@every_backend
def test_what_a_product_and_its_batch_norm_compute_with_may_change(
    tmp_path: Path, backend: str
) -> None:
    torch.manual_seed(8)
    x, by = torch.randn(2, 3, 4, 4), torch.tensor(0.5)
    methods = {
        "use": ps.Method("use", (x,)),
        "change": ps.Method("change", (by,)),
        "use_and_change": ps.Method("use_and_change", (x, by)),
    }
    model = Parts().eval().requires_grad_(False)
    twins = Twins(model, methods, tmp_path, backend)
    for _ in range(2):
        twins.call("use", torch.randn(2, 3, 4, 4))
        twins.call("change", torch.rand(()) + 0.5)
        twins.call("use", torch.randn(2, 3, 4, 4))
        twins.call("use_and_change", torch.randn(2, 3, 4, 4), torch.rand(()))
