"""Programs made from a seed: statements that change two buffers and read them in other places."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop

# More than one vector of a processor holds: parts that overlap are not in one.
ROWS, COLUMNS = 5, 37

# Of a buffer `b`, what is added to or copied into another.
_READS = """
    b; b.flip(0); b.flip(1); b.roll(1, 0); b.roll(-2, 0); b[i][0]; b.sum(0); b.mean(); b[-1]
    b[[3, 1, 4, 0, 2]]; b.gather(0, g); b.cumsum(0); b.t().reshape(b.shape); b[p]; b.tril(); b @ m
    b.as_strided(b.shape, (1, 1)).clone(); torch.cat([b[1:], w[None]]); b.amax(0); b[:, :1]
    b.unfold(0, 3, 1).sum(-1).sum(0); b.sort(0).values
"""
# Of a buffer `b`, two rows.
_ROWS = """
    v; v + b[1]; b[i]; b[4 - i]; b[:2]; b[-2:]; b.flip(0)[:2]; b.roll(1, 0)[i]
    b.sum(0).expand(v.shape)
"""
# Of two buffers, `read` and `rows` of the second.
_STATEMENTS = """
    a.index_copy_(0, i, rows); a[i] = rows; a.index_put_((i,), rows, accumulate=True)
    a.index_add_(0, i, rows); a.scatter_(0, i[:, None].expand(v.shape), rows)
    a.scatter_add_(0, i[:, None].expand(v.shape), rows); a.index_fill_(0, i, 0.5); a[1:3] = rows
    a[1:] = a[:-1].clone(); a[:-1] = a[1:].clone(); a[1:] = b[:-1].clone()
    a[::2] = b[[4, 1, 0]]; a[:, 1] = b[:, 0].clone(); a[:, 0] = b[:, 2].clone()
    a[0] = w; a[0] = b[-1].clone(); a[p] = b.sum(0); a[p] = b[i][1]; a[1:4].add_(b[0:3])
    a.add_(read); a.mul_(0.5); a.copy_(read * 0.5); a.copy_(read); a.lerp_(read, 0.25)
    a.copy_(b.flip(0)); a.copy_(b.roll(1, 0)); a.masked_fill_(b > 0.5, 0.25); a[k] = 0.75
    a.zero_(); a.sub_(b[1:2]); a.diagonal().add_(b[:, 0]); a.t().copy_(b.t().flip(1))
    a.copy_(torch.where(b > 0, read, a)); a.addcmul_(read, a.flip(0), value=0.1)
    a.copy_(a.sort(0).values); exchange(a, b); out.append(a.index_copy(0, i, rows))
    out.append(added_to_itself(a @ m, i)); out.append(read * 2); out.append(rows * 2)
"""


def exchange(a: Tensor, b: Tensor) -> None:
    old = a.clone()
    a.copy_(b)
    b.copy_(old)


def added_to_itself(value: Tensor, i: Tensor) -> Tensor:
    """A computed value, to two rows of which two of its own are added."""
    return value.index_add(0, i, value[:2])


def whole_changed(value: Tensor, i: Tensor, rows: Tensor) -> list[Tensor]:
    """What a value and rows are joined to, changed, and what reads the value then."""
    whole = torch.cat([value, rows]).index_copy(0, i, rows)
    return [whole, value * whole.mean()]


def looped(value: Tensor, w: Tensor) -> Tensor:
    """A value that a loop of one step adds one to, or a loop without a step nothing."""
    steps = (w.sum() > 0).long()
    return while_loop(
        lambda step, _: step < steps,
        lambda step, value: (step + 1, value + 1),
        (torch.zeros((), dtype=torch.int64), value),
    )[1]


_FUNCTIONS = {each.__name__: each for each in (exchange, added_to_itself, whole_changed, looped)}


def _listed(text: str) -> list[str]:
    return [each.strip() for line in text.split("\n") for each in line.split(";") if each.strip()]


@dataclass(frozen=True)
class Statement:
    """A statement, and which of the buffers `s` and `t` are `a` and `b`."""

    text: str
    a: str
    b: str
    read: str = "b"
    rows: str = "v"

    @classmethod
    def drawn(cls, chosen: random.Random) -> Statement:
        texts = [chosen.choice(_listed(each)) for each in (_STATEMENTS, _READS, _ROWS)]
        return cls(texts[0], chosen.choice("st"), chosen.choice("st"), *texts[1:])

    def run(self, names: dict[str, Any]) -> None:
        """Run it where `names` has the buffers, the inputs and a list `out`."""
        names = {**names, **_FUNCTIONS, "a": names[self.a], "b": names[self.b]}
        for name, text in (("read", self.read), ("rows", self.rows)):
            if name in self.text:
                names[name] = eval(text, names)
        exec(self.text, names)


class Sequence(nn.Module):
    """Two buffers, and statements over them."""

    def __init__(self, statements: list[Statement], seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        for name in "st":
            self.register_buffer(name, torch.randn(ROWS, COLUMNS, generator=generator))
        self.statements = statements

    @classmethod
    def drawn(cls, seed: int) -> Sequence:
        """Two to four statements; others where these fail or their values grow large."""
        chosen = random.Random(seed)
        while True:
            sequence = cls([Statement.drawn(chosen) for _ in range(chosen.randint(2, 4))], seed)
            if copy.deepcopy(sequence).is_valid():
                return sequence

    def forward(self, inputs: dict[str, Tensor]) -> list[Tensor]:
        out: list[Tensor] = []
        for statement in self.statements:
            statement.run({"s": self.s, "t": self.t, "out": out, "torch": torch, **inputs})
        return [each * 1 for each in out]

    def is_valid(self) -> bool:
        """Whether some calls end well; makes them."""
        generator = torch.Generator().manual_seed(0)
        try:
            for _ in range(4):
                self.forward(drawn_inputs(generator))
        except RuntimeError:  # shapes that do not fit, or memory that overlaps
            return False
        return all(bool(buffer.abs().max() < 1e3) for buffer in self.buffers())


def drawn_inputs(generator: torch.Generator) -> dict[str, Tensor]:
    """What statements use beside the buffers."""
    return {
        "i": torch.randperm(ROWS, generator=generator)[:2],
        "v": torch.randn(2, COLUMNS, generator=generator),
        "w": torch.randn(COLUMNS, generator=generator),
        "p": torch.randint(ROWS, (1,), generator=generator),
        "g": torch.randint(ROWS, (ROWS, COLUMNS), generator=generator),
        "m": torch.randn(COLUMNS, COLUMNS, generator=generator) / COLUMNS**0.5,
        "k": torch.rand(ROWS, COLUMNS, generator=generator) > 0.5,
    }


class Sequences(nn.Module):
    """Several of them, each with buffers of its own."""

    def __init__(self, sequences: list[Sequence]) -> None:
        super().__init__()
        self.sequences = nn.ModuleList(sequences)

    def forward(self, inputs: dict[str, Tensor]) -> list[Tensor]:
        used = sum(value.sum() for value in inputs.values())  # each is an input of the method
        return [result for each in self.sequences for result in each(inputs)] + [used * 1]
