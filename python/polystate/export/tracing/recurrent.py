"""Recurrent networks as operators of polystate's own, over any length.

PyTorch traces a network step by step, and so fixes the length of its sequences.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree as pytree

from polystate.errors import UnsupportedError
from polystate.export.tracing.composite_operators import overridden
from polystate.ops.packed import pack_floats

aten = torch.ops.aten
operators = torch.ops.polystate

# Networks of these types are computed in float32.
_WIDENED = {torch.float16, torch.bfloat16}


@dataclass(frozen=True)
class _Network:
    """A recurrent network: the arguments of PyTorch's operators that follow the states."""

    kind: str
    parameters: Sequence[Tensor]
    has_biases: bool
    layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool

    def run(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        """What PyTorch's operator returns: results by step, last hidden states, cell states."""
        if x.dtype not in _WIDENED:
            return self._run(x, *states)
        wide = replace(self, parameters=[each.float() for each in self.parameters])
        found = wide._run(x.float(), *(each.float() for each in states))
        return tuple(each.to(x.dtype) for each in found)

    def _run(self, x: Tensor, hidden: Tensor, cell: Tensor | None = None) -> tuple[Tensor, ...]:
        directions = 2 if self.bidirectional else 1
        x = x.transpose(0, 1) if self.batch_first else x
        states = []
        for layer in range(self.layers):
            places = range(layer * directions, (layer + 1) * directions)
            found = [
                self._layer(x, hidden[i], None if cell is None else cell[i], i, i != places[0])
                for i in places
            ]
            results = [each for each, *_ in found]
            x = results[0] if directions == 1 else torch.cat(results, -1)
            states += [each for _, *each in found]
            if self.dropout > 0 and self.train and layer + 1 < self.layers:
                x = torch.dropout(x, self.dropout, True)
        x = x.transpose(0, 1) if self.batch_first else x
        return x, *(torch.stack(each) for each in zip(*states, strict=True))

    def _layer(
        self, x: Tensor, hidden: Tensor, cell: Tensor | None, place: int, reverse: bool
    ) -> tuple[Tensor, ...]:
        """One direction of a layer: its results by step, and its states after the last one."""
        count = len(self.parameters) // (self.layers * (2 if self.bidirectional else 1))
        of_input, of_hidden, *others = self.parameters[place * count : (place + 1) * count]
        bias, hidden_bias = others[:2] if self.has_biases else (None, None)
        is_projected = len(others) == (3 if self.has_biases else 1)
        projection = pack_floats(others[-1]) if is_projected else None
        columns, width, steps = of_input.shape[0], hidden.shape[1], x.shape[0]
        if x.dtype == torch.float32:
            gates = operators.packed_linear(x, pack_floats(of_input), columns, bias)
        else:
            gates = torch.nn.functional.linear(x, of_input, bias)
        result = operators.recurrence(
            gates, hidden, cell, pack_floats(of_hidden), hidden_bias, projection, self.kind, reverse
        )
        results = aten.slice.Tensor(result, 0, 0, steps)
        if cell is None:
            return results, result[-1]
        return results[:, :, :width], result[-2, :, :width], result[-1]


def _of_one_state(kind: str) -> Callable[..., Any]:
    def run(x: Tensor, hidden: Tensor, parameters: Sequence[Tensor], *options: Any) -> Any:
        return _Network(kind, parameters, *options).run(x, hidden)

    return run


def _lstm(x: Tensor, states: Sequence[Tensor], parameters: Sequence[Tensor], *options: Any) -> Any:
    return _Network("lstm", parameters, *options).run(x, *states)


def refuse_packed_sequences(method: str, args: Any, kwargs: Any) -> None:
    """Refuses a method with one among its arguments.

    Raises
    ------
    UnsupportedError
        With what to give instead.
    """
    leaves = pytree.tree_leaves(
        (args, kwargs), is_leaf=lambda each: isinstance(each, PackedSequence)
    )
    if any(isinstance(each, PackedSequence) for each in leaves):
        raise UnsupportedError(f"method '{method}': {_PACKED}")


def _refuse_packed(*_: Any) -> Any:
    raise UnsupportedError(_PACKED)


_PACKED = (
    "a PackedSequence has other sizes for other lengths; give the network a padded tensor of one "
    "sequence, or of sequences of one length"
)


def _lstm_cell(x: Tensor, states: Sequence[Tensor], *parameters: Any) -> Any:
    hidden, cell = states
    inputs, sums = _products(x, hidden, *parameters)
    i, f, g, o = (inputs + sums).chunk(4, 1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def _gru_cell(x: Tensor, hidden: Tensor, *parameters: Any) -> Tensor:
    inputs, sums = _products(x, hidden, *parameters)
    (r, z, n), (hr, hz, hn) = inputs.chunk(3, 1), sums.chunk(3, 1)
    fresh = torch.tanh(n + torch.sigmoid(r + hr) * hn)
    return (hidden - fresh) * torch.sigmoid(z + hz) + fresh


def _products(
    x: Tensor,
    hidden: Tensor,
    of_input: Tensor,
    of_hidden: Tensor,
    bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    linear = torch.nn.functional.linear
    return linear(x, of_input, bias), linear(hidden, of_hidden, hidden_bias)


# PyTorch's cells fix the size of a batch when they are written by others.
CELLS: dict[Any, Callable[..., Any]] = {
    aten.gru_cell.default: _gru_cell,
    aten.lstm_cell.default: _lstm_cell,
}

NETWORKS: dict[Any, Callable[..., Any]] = {
    aten.lstm.input: _lstm,
    aten.gru.input: _of_one_state("gru"),
    aten.rnn_tanh.input: _of_one_state("tanh"),
    aten.rnn_relu.input: _of_one_state("relu"),
}


@contextlib.contextmanager
def networks_of_any_length() -> Iterator[None]:
    """Lets torch.export trace networks whose sequences vary in length, within the block."""
    packing = mock.patch.object(torch._VF, "_pack_padded_sequence", _refuse_packed, create=True)
    with overridden(NETWORKS), packing:
        yield
