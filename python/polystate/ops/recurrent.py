"""A layer of a recurrent network over a sequence, in one direction.

``recurrence(gates, hidden, cell, tiles, bias, projection, kind, reverse)`` takes::

    gates       [steps, batch, columns], products of the inputs with their weights
    hidden      [batch, width], the hidden state before the first step
    cell        [batch, size], an LSTM's cell state
    tiles       packed weights [columns, width] of the hidden state (packed.py)
    bias        [columns] of their products
    projection  packed weights [width, size] of an LSTM's hidden state; without, width is size

The kinds are ``"lstm"``, ``"gru"``, and ``"tanh"`` and ``"relu"`` for a plain layer; columns are 4,
3 and 1 times ``size``. All are of float32, or all of float64.

The result [steps + states, batch, size] has the hidden state after each step, then the last one,
and the last cell state of an LSTM. A hidden state is in the first ``width`` columns, and 0 in
others. ``reverse`` is from the last step to the first.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from polystate.ops.library import define_with_out
from polystate.ops.packed import unpack_floats

_GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _lstm(inputs: Tensor, sums: Tensor, _: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (inputs + sums).chunk(4, -1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def _gru(inputs: Tensor, sums: Tensor, hidden: Tensor) -> Tensor:
    (r, z, n), (hr, hz, hn) = inputs.chunk(3, -1), sums.chunk(3, -1)
    fresh = torch.tanh(n + torch.sigmoid(r + hr) * hn)
    return (hidden - fresh) * torch.sigmoid(z + hz) + fresh


def _recurrence(
    gates: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    tiles: Tensor,
    bias: Tensor | None,
    projection: Tensor | None,
    kind: str,
    reverse: bool,
) -> Tensor:
    result = _fake_recurrence(gates, hidden, cell, tiles, bias, projection, kind, reverse).zero_()
    weight = unpack_floats(tiles, gates.shape[2])
    steps, width = gates.shape[0], hidden.shape[1]
    for step in reversed(range(steps)) if reverse else range(steps):
        sums = functional.linear(hidden, weight, bias)
        if cell is not None:
            hidden, cell = _lstm(gates[step], sums, hidden, cell)
        elif kind == "gru":
            hidden = _gru(gates[step], sums, hidden)
        else:
            hidden = getattr(torch, kind)(gates[step] + sums)
        if projection is not None:
            hidden = functional.linear(hidden, unpack_floats(projection, width))
        result[step, :, :width] = hidden
    result[steps, :, :width] = hidden
    if cell is not None:
        result[steps + 1] = cell
    return result


def _fake_recurrence(
    gates: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    tiles: Tensor,
    bias: Tensor | None,
    projection: Tensor | None,
    kind: str,
    reverse: bool,
) -> Tensor:
    if kind not in _GATES:
        raise ValueError(f"the kind is {kind!r}; it may be {', '.join(_GATES)}")
    steps, batch, columns = gates.shape
    states = 1 if cell is None else 2
    return gates.new_empty((steps + states, batch, columns // _GATES[kind]))


define_with_out(
    "recurrence",
    "Tensor gates, Tensor hidden, Tensor? cell, Tensor tiles, Tensor? bias, Tensor? projection, "
    "str kind, bool reverse",
    _recurrence,
    _fake_recurrence,
)
