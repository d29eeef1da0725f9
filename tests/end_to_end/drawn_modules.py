"""Small modules that are drawn from a seed: operators, control flow, state, constants' layouts.

``python -m tests.end_to_end.drawn_modules --backend portable --count 5000 --results FILE`` tries
that many and goes on where it ended; ``--first 1000`` begins with that one.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops.scan import scan

from tests.end_to_end.trials import Trial, run_resumable, trial_parser

# More elements than a vector of any processor has: one loop reads and writes several of them.
ROWS, COLUMNS = 10, 7

Pick = random.Random
Step = Callable[["Drawn", list[torch.Tensor], torch.Tensor, torch.Tensor], torch.Tensor]


class Drawn(nn.Module):
    """A module of one seed; every value on the way is a matrix [ROWS, COLUMNS].

    Its methods take such a matrix, indices [2] of rows, unlike one another, and a condition.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        pick = random.Random(seed)
        torch.manual_seed(seed)
        for name in ("a", "b"):
            initial = torch.zeros if pick.random() < 0.5 else torch.randn
            self.register_buffer(name, initial(ROWS, COLUMNS))
        self.register_buffer("count", torch.tensor(0))
        self.table = pick.choice(_LAYOUTS)()
        self.linear = nn.Linear(COLUMNS, COLUMNS, bias=pick.random() < 0.5)
        self._steps = {
            name: [_step(pick) for _ in range(pick.randint(2, 6))] for name in ("first", "second")
        }
        self._returned = {name: pick.randint(1, 3) for name in self._steps}

    def first(self, x: torch.Tensor, i: torch.Tensor, p: torch.Tensor) -> list[torch.Tensor]:
        return self._run("first", x, i, p)

    def second(self, x: torch.Tensor, i: torch.Tensor, p: torch.Tensor) -> list[torch.Tensor]:
        return self._run("second", x, i, p)

    def _run(
        self, name: str, x: torch.Tensor, i: torch.Tensor, p: torch.Tensor
    ) -> list[torch.Tensor]:
        values = [x]
        for step in self._steps[name]:
            values.append(step(self, values, i, p))
        return [value.clone() for value in values[-self._returned[name] :]]


# A constant [ROWS, COLUMNS] that lies in memory in some way.
_LAYOUTS: tuple[Callable[[], torch.Tensor], ...] = (
    lambda: torch.randn(ROWS, COLUMNS),
    lambda: torch.randn(COLUMNS, ROWS).t(),
    lambda: torch.randn(2 * ROWS, COLUMNS)[::2],
    lambda: torch.randn(ROWS, 1).expand(ROWS, COLUMNS),
    lambda: torch.randn(ROWS + 1, COLUMNS + 1)[1:, 1:],
    lambda: (
        torch.randn(1, COLUMNS, ROWS, 1)
        .contiguous(memory_format=torch.channels_last)[0, :, :, 0]
        .t()
    ),
)

_ONE: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.sin,
    torch.tanh,
    torch.relu,
    torch.abs,
    torch.sigmoid,
    nn.functional.gelu,
    lambda v: v * 0.5 + 1,
    lambda v: v.clamp(-1, 1),
    lambda v: v.flip(0),
    lambda v: v.roll(1, 0),
    lambda v: v.t().reshape(ROWS, COLUMNS),
    lambda v: v.softmax(-1),
    lambda v: v.cumsum(0),
    lambda v: v - v.mean(0, keepdim=True),
    lambda v: v.sum(1, keepdim=True).expand(ROWS, COLUMNS),
    lambda v: v.amax(0).expand(ROWS, COLUMNS),
    lambda v: torch.cat([v[1:], v[:1]]),
    lambda v: torch.stack(v.unbind(0)[::-1]),
    lambda v: torch.cat(v.chunk(2, 0)[::-1]),
    lambda v: v.where(v > 0, 0.25),
    lambda v: v.argmax(0, keepdim=True).float().expand(ROWS, COLUMNS),
    lambda v: v.square().sum().sqrt() + v,
    lambda v: nn.functional.layer_norm(v, (COLUMNS,)),
    lambda v: torch.nn.functional.pad(v, (1, 0))[:, :COLUMNS],
    lambda v: v.masked_fill(v < -0.5, 0.0),
    lambda v: (v * 8).clamp(-100, 100).int().float(),
    lambda v: ((v * 8).clamp(-100, 100).to(torch.int64) // 3).float(),
    lambda v: ((v * 8).clamp(-100, 100).to(torch.int64) % 5).float(),
    lambda v: v.unfold(0, 2, 1).sum(-1).repeat(2, 1)[:ROWS],
)

_TWO: tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], ...] = (
    torch.add,
    torch.mul,
    torch.maximum,
    lambda v, w: v - 0.5 * w,
    lambda v, w: v @ w.t() @ w * 0.02,
    lambda v, w: torch.where(v > w, v, -w),
    lambda v, w: v / (w.abs() + 1),
    lambda v, w: torch.einsum("ij,kj->ik", v, w)[:, :COLUMNS],
)


# Of a row [COLUMNS].
_ROW: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.sin,
    torch.tanh,
    lambda row: row.flip(0),
    lambda row: row - row.mean(),
    lambda row: row.where(row > 0, 0.25),
    lambda row: torch.cond(row.sum() > 0, torch.cos, torch.neg, (row,)),
)


def _step(pick: Pick) -> Step:
    """Draw one step."""
    return pick.choice(_STEPS)(pick)


def _unary(pick: Pick) -> Step:
    function, place = pick.choice(_ONE), pick.random()
    return lambda m, values, i, p: function(_value(values, place))


def _binary(pick: Pick) -> Step:
    function, places = pick.choice(_TWO), (pick.random(), pick.random())
    return lambda m, values, i, p: function(*(_value(values, place) for place in places))


def _of_module(pick: Pick) -> Step:
    """Read a state or a constant."""
    function = pick.choice(_TWO)
    name, place = pick.choice(["a", "b", "table", "table"]), pick.random()
    return lambda m, values, i, p: function(_value(values, place), getattr(m, name))


def _linear(pick: Pick) -> Step:
    place = pick.random()
    return lambda m, values, i, p: m.linear(_value(values, place))


def _indexed(pick: Pick) -> Step:
    kind, place = pick.randrange(5), pick.random()

    def step(
        m: Drawn, values: list[torch.Tensor], i: torch.Tensor, p: torch.Tensor
    ) -> torch.Tensor:
        v = _value(values, place)
        if kind == 0:
            return v + v[i].sum(0)
        if kind == 1:
            return v + v.index_select(0, (i + 1) % ROWS).mean()
        if kind == 2:
            return v.index_add(0, i, v[:2])
        if kind == 3:
            return v.gather(0, i[:1, None].expand(ROWS, COLUMNS))
        return v.scatter(0, i[:, None].expand(2, COLUMNS), v[2:])

    return step


def _chosen(pick: Pick) -> Step:
    """A cond, with another one inside now and then."""
    yes, no, deep = (pick.choice(_ONE) for _ in range(3))
    place, is_nested, reads = pick.random(), pick.random() < 0.3, pick.random() < 0.3

    def step(
        m: Drawn, values: list[torch.Tensor], i: torch.Tensor, p: torch.Tensor
    ) -> torch.Tensor:
        def taken(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            if is_nested:
                inner: torch.Tensor = torch.cond(
                    v.sum() > 0, lambda u: deep(u) * 2, lambda u: u - 1, (v,)
                )
                return inner
            return yes(v) + 0.5

        def otherwise(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return no(v) * 1.5 + w

        other = m.a if reads else _value(values, 0.0)
        result: torch.Tensor = torch.cond(
            p, taken, otherwise, (_value(values, place).clone(), other.clone())
        )
        return result

    return step


def _looped(pick: Pick) -> Step:
    """A map or a scan over rows, which reads a state now and then."""
    function, place = pick.choice(_ROW), pick.random()
    is_scan, is_reversed, reads = (pick.random() < 0.5 for _ in range(3))

    def step(
        m: Drawn, values: list[torch.Tensor], i: torch.Tensor, p: torch.Tensor
    ) -> torch.Tensor:
        v = _value(values, place)
        other = (m.b if reads else values[0])[0]
        if not is_scan:
            mapped: torch.Tensor = torch_map(lambda row, w: function(row) + w, v, other.clone())
            return mapped

        def carried(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            new = carry * 0.5 + function(row)
            return new, new * 2 - carry

        last, rows = scan(carried, other.clone(), v, reverse=is_reversed)
        return rows + last

    return step


def _put_rows(state: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> None:
    state[i] = v[-2:]


def _delay(state: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> None:
    state[1:] = state[:-1].clone()


def _put_and_delay(state: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> None:
    state.index_copy_(0, i, v[:2])
    state[1:] = state[:-1].clone()


def _put_column(state: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> None:
    state[:, 0] = v[:, 1]


_CHANGES: tuple[Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any], ...] = (
    lambda state, v, i: state.add_(v * 0.5),
    lambda state, v, i: state.copy_(v),
    lambda state, v, i: state.index_copy_(0, i, v[:2]),
    lambda state, v, i: state.copy_(state.flip(0)),
    lambda state, v, i: state.masked_fill_(v > 0.5, 0.25),
    lambda state, v, i: state.mul_(0.9),
    _put_rows,
    _delay,
    _put_and_delay,
    _put_column,
)


def _write(pick: Pick) -> Step:
    """Change a state, and read it or another one."""
    name, other = pick.choice([("a", "b"), ("b", "a")])
    change, place, reads = pick.choice(_CHANGES), pick.random(), pick.choice([name, name, other])

    def step(
        m: Drawn, values: list[torch.Tensor], i: torch.Tensor, p: torch.Tensor
    ) -> torch.Tensor:
        old = getattr(m, name).clone()
        change(getattr(m, name), _value(values, place), i)
        return getattr(m, reads) * 1.0 + old * 0.25

    return step


def _swap(pick: Pick) -> Step:
    """Exchange the states, and count."""
    place = pick.random()

    def step(
        m: Drawn, values: list[torch.Tensor], i: torch.Tensor, p: torch.Tensor
    ) -> torch.Tensor:
        old = m.a.clone()
        m.a.copy_(m.b)
        m.b.copy_(old)
        m.count += 1
        return _value(values, place) + m.count * 0.125

    return step


_STEPS: tuple[Callable[[Pick], Step], ...] = (
    _unary,
    _unary,
    _binary,
    _of_module,
    _linear,
    _indexed,
    _chosen,
    _looped,
    _write,
    _write,
    _swap,
)


def _value(values: list[torch.Tensor], place: float) -> torch.Tensor:
    """One of the values so far, mostly a late one."""
    return values[int((1 - place * place) * len(values) * 0.999)]


def trials(first: int, count: int) -> Iterator[tuple[str, Callable[[], Trial | None]]]:
    """The modules of some seeds."""
    for seed in range(first, first + count):
        yield str(seed), functools.partial(drawn, seed)


def drawn(seed: int) -> Trial:
    """The module of a seed with an example of zeros, ones or random numbers, and other calls."""
    model = Drawn(seed).eval()
    generator = torch.Generator().manual_seed(seed)
    make = (torch.zeros, torch.ones, functools.partial(torch.randn, generator=generator))[seed % 3]
    calls = [(make(ROWS, COLUMNS), torch.tensor([0, 1]), torch.tensor(seed % 2 == 0))]
    calls += [
        (
            torch.randn(ROWS, COLUMNS, generator=generator),
            torch.randperm(ROWS, generator=generator)[:2],
            torch.tensor(number % 2 == 0),
        )
        for number in range(4)
    ]
    return Trial(str(seed), model, {"first": calls, "second": calls})


def main() -> None:
    parser = trial_parser(__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    run_resumable(
        "tests.end_to_end.drawn_modules",
        lambda: trials(options.first, options.count),
        options,
    )


if __name__ == "__main__":
    main()
