"""Buffers that methods set to other tensors are state, in submodules too."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

NAN = float("nan")


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", None)
        self.register_buffer("hidden", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.hidden = 0.5 * self.hidden + x
        return self.hidden


class Alarm(nn.Module):
    """What no example sets off."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("limits", None)
        self.register_buffer("nans", torch.tensor(0))
        self.register_buffer("is_large", torch.tensor(False))

    def forward(self, x: Tensor) -> Tensor:
        self.nans = self.nans + torch.isnan(x).sum()
        self.is_large = self.is_large | (x.abs() > 1e7).any()
        return x.nan_to_num()


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("unused", None)
        self.alarm = Alarm()
        self.cells = nn.Sequential(Cell(), Cell())
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("last", torch.randn(3))
        self.register_buffer("phase", torch.ones(3, dtype=torch.complex64))

    def step(self, x: Tensor) -> tuple[Tensor, Tensor]:
        before = self.calls
        self.calls = self.calls + 1
        return self.cells(self.alarm(x)), before

    def watch(self) -> tuple[Tensor, Tensor]:
        return self.alarm.nans * 1, self.alarm.is_large & True

    def exchange(self, x: Tensor) -> tuple[Tensor, ...]:
        """Old values stay what they were, and changes of them are lost with the buffer."""
        old = self.last
        self.last = x * 2
        part = old[1:]
        old.add_(1)
        self.last.add_(old)
        self.cells[0].hidden = old.flip(0)
        return part, old, self.last

    def turn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        before = self.phase
        self.phase = self.phase * torch.exp(1j * x)
        return before, self.phase


@every_backend
def test_what_buffers_are_set_to_is_state(tmp_path: Path, backend: str) -> None:
    x = torch.randn(3)
    methods = {
        "step": ps.Method("step", (x,)),
        "watch": ps.Method("watch"),
        "exchange": ps.Method("exchange", (x,)),
        "turn": ps.Method("turn", (x,)),
    }
    model = Network()
    assert list(model.alarm._buffers) == ["limits", "nans", "is_large"]
    twins = Twins(model, methods, tmp_path, backend)
    assert list(model.alarm._buffers) == ["limits", "nans", "is_large"]
    for odd in (1.0, NAN, 1e8):
        for _ in range(2):
            twins.call("step", torch.tensor([odd, 1.0, -2.0]))
            twins.call("watch")
            twins.call("exchange", torch.randn(3))
            twins.call("turn", torch.randn(3))
    assert twins.session.state["alarm.nans"] == 2
    assert twins.session.state["alarm.is_large"]
