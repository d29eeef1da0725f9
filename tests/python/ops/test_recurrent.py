"""What recurrent networks are traced as, by the operator's reference, equals PyTorch's networks."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from polystate.export.tracing.recurrent import NETWORKS

aten = torch.ops.aten


def drawn(seed: int) -> nn.RNNBase:
    chance = random.Random(seed)
    torch.manual_seed(seed)
    kind = [nn.LSTM, nn.GRU, nn.RNN][seed % 3]
    options = {
        "num_layers": chance.randint(1, 3),
        "bias": chance.random() < 0.7,
        "batch_first": chance.random() < 0.5,
        "bidirectional": chance.random() < 0.5,
    }
    size = chance.randint(2, 40)
    if kind is nn.LSTM and chance.random() < 0.5:
        options["proj_size"] = chance.randint(1, size - 1)
    if kind is nn.RNN:
        options["nonlinearity"] = chance.choice(["tanh", "relu"])
    return kind(chance.randint(1, 9), size, **options)


def operator_of(network: nn.RNNBase) -> torch._ops.OpOverload:
    if isinstance(network, nn.LSTM):
        return aten.lstm.input
    if isinstance(network, nn.GRU):
        return aten.gru.input
    assert isinstance(network, nn.RNN)
    return aten.rnn_relu.input if network.nonlinearity == "relu" else aten.rnn_tanh.input


@pytest.mark.parametrize("seed", range(30))
def test_a_network_is_pytorchs(seed: int) -> None:
    network = drawn(seed)
    batch, steps = 1 + seed % 4, 1 + seed % 7
    rows = network.num_layers * (2 if network.bidirectional else 1)
    hidden = torch.randn(rows, batch, network.proj_size or network.hidden_size)
    cell = torch.randn(rows, batch, network.hidden_size)
    shape = (batch, steps) if network.batch_first else (steps, batch)
    arguments = (
        2 * torch.randn(*shape, network.input_size),
        [hidden, cell] if isinstance(network, nn.LSTM) else hidden,
        network._flat_weights,
        network.bias, network.num_layers, 0.0, False, network.bidirectional, network.batch_first,
    )  # fmt: skip
    operator = operator_of(network)
    with torch.no_grad():
        found, expected = NETWORKS[operator](*arguments), operator(*arguments)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
