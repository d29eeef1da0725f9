"""Modules as they are trained: observers, faked quantization, averages and counters are state."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.ao.quantization import FakeQuantize, MinMaxObserver, MovingAverageMinMaxObserver

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.ao.quantization:DeprecationWarning")


class Trained(nn.Module):
    """Of all kinds one or two."""

    def __init__(self) -> None:
        super().__init__()
        self.widest = MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
        self.moving = MovingAverageMinMaxObserver(averaging_constant=0.25)
        self.fake = FakeQuantize(averaging_constant=0.25)
        self.observing = FakeQuantize(MinMaxObserver)
        self.observing.disable_fake_quant()
        self.fixed = FakeQuantize()
        self.fixed.scale.fill_(0.05)
        self.fixed.zero_point.fill_(100)
        self.fixed.disable_observer()
        self.images = nn.BatchNorm2d(3)
        self.cumulative = nn.BatchNorm1d(3, momentum=None)
        self.register_buffer("average", torch.zeros(2, 3, 4))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x: Tensor) -> list[Tensor]:
        self.steps += 1
        self.average.lerp_(x, 1 / self.steps)
        y = self.widest(x) + self.moving(x * 2)
        return [
            self.fake(y),
            self.observing(y * 3),
            self.fixed(y),
            self.images(x[..., None])[..., 0],
            self.cumulative(x),
            self.average * 1,
        ]

    def operators(self, x: Tensor) -> list[Tensor]:
        """That modules are made of."""
        mean, var = self.images.running_mean, self.images.running_var
        settings = (torch.ones(3), torch.zeros(3), mean, var)
        return [
            *torch.ops.aten._native_batch_norm_legit(x, *settings, False, 0.1, 1e-5),
            *torch.ops.aten._native_batch_norm_legit(x, *settings, True, 0.1, 1e-5),
            *torch.ops.aten._batch_norm_with_update(x * 2, *settings, 0.1, 1e-5),
        ]

    def parameters_of_codes(self) -> list[Tensor]:
        scale, zero_point = self.moving.calculate_qparams()
        # int64 before the first call, and int32 after it.
        return [*self.widest.calculate_qparams(), scale, zero_point.to(torch.int64)]


@every_backend
def test_modules_in_training_do_what_eager_does(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    model = Trained().requires_grad_(False)
    x = torch.randn(2, 3, 4)
    methods = {
        "forward": ps.Method("forward", (x,)),
        "operators": ps.Method("operators", (x,)),
        "parameters": ps.Method("parameters_of_codes"),
    }
    twins = Twins(model, methods, tmp_path, backend)
    assert {"moving.min_val", "fake.scale", "fake.activation_post_process.max_val"} <= set(
        twins.program.state
    )
    assert not any(name.startswith("fixed") for name in twins.program.state)
    for scale in (1.0, 3.0, 0.5):
        twins.call("forward", torch.randn(2, 3, 4) * scale)
        twins.call("operators", torch.randn(2, 3, 4) * scale)
        twins.call("parameters")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_quantization_of_16_bits_and_of_nan_is_pytorchs(dtype: torch.dtype, tmp_path: Path) -> None:
    class Fake(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.fake_quantize_per_tensor_affine(x, 0.05, 100, 0, 255)

    x = torch.linspace(-6, 9, 400).to(dtype)
    x[::50] = torch.nan
    twins = Twins(Fake(), {"forward": ps.Method("forward", (x[:400],))}, tmp_path)
    twins.call("forward", x)


def test_a_method_that_turns_a_part_off_is_refused() -> None:
    class Switched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fake = FakeQuantize()

        def forward(self, x: Tensor) -> Tensor:
            return self.fake(x)

        def freeze(self) -> None:
            self.fake.disable_observer()

    methods = {"forward": ps.Method("forward", (torch.ones(3),)), "freeze": ps.Method("freeze")}
    with pytest.raises(ps.ExportError, match="changes the buffer 'fake"):
        ps.export(Switched(), methods, backend="portable")
