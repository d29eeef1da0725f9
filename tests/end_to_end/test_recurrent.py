"""Recurrent modules of PyTorch, whose state is in buffers, over sequences of any length."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Stream(nn.Module):
    """A recurrent network that goes on where the last call ended, or starts anew."""

    def __init__(self, network: nn.RNNBase) -> None:
        super().__init__()
        self.network = network.eval()
        directions = 2 if network.bidirectional else 1
        layers = network.num_layers * directions
        hidden = network.proj_size or network.hidden_size
        self.register_buffer("h", torch.randn(layers, 2, hidden))
        self.register_buffer("c", torch.randn(layers, 2, network.hidden_size))

    def go_on(self, x: Tensor) -> Tensor:
        if isinstance(self.network, nn.LSTM):
            result, (h, c) = self.network(x, (self.h, self.c))
            self.c.copy_(c)
        else:
            result, h = self.network(x, self.h)
        self.h.copy_(h)
        return result

    def start(self, x: Tensor) -> tuple[Tensor, Tensor]:
        result, states = self.network(x)
        return result, states[1] if isinstance(states, tuple) else states


NETWORKS = {
    "lstm": lambda: nn.LSTM(4, 5, batch_first=True),
    "lstm of two layers": lambda: nn.LSTM(4, 33, 2, dropout=0.3),
    "lstm of both directions": lambda: nn.LSTM(4, 5, 2, bidirectional=True, bias=False),
    "lstm with a projection": lambda: nn.LSTM(4, 16, proj_size=3, bidirectional=True),
    "normed lstm": lambda: weight_norm(nn.LSTM(4, 5), "weight_hh_l0"),
    "gru": lambda: nn.GRU(4, 5, 2, bias=False),
    "gru of both directions": lambda: nn.GRU(4, 17, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(4, 5, 2, nonlinearity="relu", bidirectional=True),
    "rnn of tanh": lambda: nn.RNN(4, 20),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_goes_on_from_its_state(tmp_path: Path, backend: str, name: str) -> None:
    torch.manual_seed(1)
    network = NETWORKS[name]()
    length = 1 if network.batch_first else 0
    steps, rows = Dim("steps", max=40), Dim("rows", min=1, max=5)

    def inputs(steps: int, rows: int = 2) -> Tensor:
        return 3 * torch.randn((rows, steps, 4) if length else (steps, rows, 4))

    methods = {
        "go_on": ps.Method("go_on", (inputs(7),), dynamic_shapes=({length: steps},)),
        "start": ps.Method(
            "start", (inputs(7),), dynamic_shapes=({length: steps, 1 - length: rows},)
        ),
    }
    twins = Twins(Stream(network), methods, tmp_path, backend)
    if backend != "aoti":  # whose programs do not list what they call
        assert "polystate::recurrence.out" in twins.program.manifest.program.operators
    for count in (1, 40, 3, 1):
        twins.call("go_on", inputs(count))
        twins.call("start", inputs(count, 5))
    before = {name: value.clone() for name, value in twins.session.state.items()}
    with pytest.raises(ps.ContractError):  # as PyTorch, which wants a step
        twins.session.run("go_on", inputs(0))
    for key, value in before.items():
        assert torch.equal(twins.session.state[key], value)


# How far results may be off, of which PyTorch rounds each step's.
TOLERANCES = {torch.float64: 1e-12, torch.float16: 3e-3, torch.bfloat16: 3e-2}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", ["lstm with a projection", "gru of both directions", "rnn"])
def test_a_network_is_of_any_real_type(
    tmp_path: Path, backend: str, name: str, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    network = NETWORKS[name]()
    length = 1 if network.batch_first else 0
    example = torch.randn(2, 3, 4) if length else torch.randn(3, 2, 4)
    steps = ({length: Dim("steps", max=40)},)
    methods = {"go_on": ps.Method("go_on", (example.to(dtype),), dynamic_shapes=steps)}
    twins = Twins(Stream(network).to(dtype), methods, tmp_path, backend)
    twins.tolerance = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]}
    for count in (1, 40, 3):
        twins.call("go_on", torch.randn((2, count, 4) if length else (count, 2, 4)).to(dtype))


class Steps(nn.Module):
    """Networks of a fixed length, of float64 and of one step."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.GRU(3, 4).double().eval(), nn.LSTM(3, 4).eval()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.wide(x.double())[0], self.narrow(x[0])[0]  # without a batch


def test_a_length_may_be_fixed(tmp_path: Path, backend: str) -> None:
    methods = {"forward": ps.Method("forward", (torch.zeros(3, 1, 3),))}
    twins = Twins(Steps(), methods, tmp_path, backend)
    twins.call("forward", torch.randn(3, 1, 3))


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lstm, self.gru = nn.LSTMCell(3, 4), nn.GRUCell(4, 5, bias=False)
        self.rnn, self.relu = nn.RNNCell(5, 2), nn.RNNCell(2, 3, nonlinearity="relu")
        self.register_buffer("hidden", torch.zeros(1, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = x.shape[0]
        hidden, cell = self.lstm(x, (self.hidden.expand(rows, 4), x.new_ones(rows, 4)))
        self.hidden.copy_(hidden.mean(0, keepdim=True))
        gru = self.gru(hidden)
        rnn = self.rnn(gru, x[:, :2])
        return cell, gru, rnn, self.relu(rnn)


def test_cells_take_any_batch(tmp_path: Path, backend: str) -> None:
    rows = ({0: Dim("rows", min=1, max=6)},)
    methods = {"forward": ps.Method("forward", (torch.zeros(2, 3),), dynamic_shapes=rows)}
    twins = Twins(Cells(), methods, tmp_path, backend)
    for count in (1, 6, 3):
        twins.call("forward", torch.randn(count, 3))


class Refused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.GRU(3, 4).eval()

    def given(self, x: PackedSequence) -> Tensor:
        return self.network(x)[0].data

    def packed(self, x: Tensor) -> Tensor:
        return self.network(pack_padded_sequence(x, [2, 1]))[1]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            ps.Method("given", (pack_sequence([torch.ones(2, 3), torch.ones(1, 3)]),)),
            "method 'given': a PackedSequence has other sizes for other lengths; give the network",
        ),
        (ps.Method("packed", (torch.ones(2, 2, 3),)), "method 'packed': a PackedSequence has"),
    ],
)
def test_packed_sequences_are_refused(backend: str, method: ps.Method, words: str) -> None:
    with pytest.raises(ps.UnsupportedError, match=words):
        ps.export(Refused(), {str(method.target): method}, backend=backend)


def test_rrelu_draws_nothing_in_eval(tmp_path: Path, backend: str) -> None:
    model = nn.Sequential(nn.RReLU()).eval()
    twins = Twins(model, {"forward": ps.Method("forward", (torch.zeros(3),))}, tmp_path, backend)
    twins.call("forward", torch.randn(3))
