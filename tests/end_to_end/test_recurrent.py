"""Recurrent modules of PyTorch, whose state is in buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Stream(nn.Module):
    """A recurrent network that goes on where the last call ended."""

    def __init__(self, network: nn.RNNBase) -> None:
        super().__init__()
        self.network = network.eval()
        directions = 2 if network.bidirectional else 1
        layers = network.num_layers * directions
        hidden = network.proj_size or network.hidden_size
        self.register_buffer("h", torch.randn(layers, 1, hidden))
        self.register_buffer("c", torch.randn(layers, 1, network.hidden_size))

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(self.network, nn.LSTM):
            result, (h, c) = self.network(x, (self.h, self.c))
            self.c.copy_(c)
        else:
            result, h = self.network(x, self.h)
        self.h.copy_(h)
        return result


NETWORKS = {
    "lstm": lambda: nn.LSTM(4, 5, batch_first=True),
    "lstm of two layers": lambda: nn.LSTM(4, 5, 2, dropout=0.3),
    "lstm of both directions": lambda: nn.LSTM(4, 5, bidirectional=True),
    "lstm with a projection": lambda: nn.LSTM(4, 5, proj_size=3),
    "gru": lambda: nn.GRU(4, 5, 2, bias=False),
    "rnn": lambda: nn.RNN(4, 5, nonlinearity="relu", bidirectional=True),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("steps", [1, 3])
def test_a_network_goes_on_from_its_state(
    tmp_path: Path, backend: str, name: str, steps: int
) -> None:
    torch.manual_seed(1)
    network = NETWORKS[name]()
    shape = (1, steps, 4) if network.batch_first else (steps, 1, 4)
    methods = {"forward": ps.Method("forward", (torch.zeros(shape),))}
    twins = Twins(Stream(network), methods, tmp_path, backend)
    for _ in range(3):
        twins.call("forward", torch.randn(shape))


def test_rrelu_draws_nothing_in_eval(tmp_path: Path, backend: str) -> None:
    model = nn.Sequential(nn.RReLU()).eval()
    twins = Twins(model, {"forward": ps.Method("forward", (torch.zeros(3),))}, tmp_path, backend)
    twins.call("forward", torch.randn(3))
