"""Modules made from a seed: a few buffers, and methods that are random steps over them."""

import random

import torch
from torch import nn
from torch.export import Dim

import polystate as ps

ROWS, COLUMNS, MAX_BATCH = 6, 5, 6

# What a method may do; each takes the module, the names of two of its matrices, the input
# [batch, COLUMNS] and an index [1], and returns something to return, or None.


def accumulate(m, a, b, x, i):
    getattr(m, a).add_(x.sum(0) * 0.1)


def write_rows(m, a, b, x, i):
    getattr(m, a)[: x.shape[0]] = x


def write_one_row(m, a, b, x, i):
    getattr(m, a).index_copy_(0, i, x[:1] * 2)


def put(m, a, b, x, i):
    getattr(m, a)[i] = getattr(m, b)[i] + 1


def squash(m, a, b, x, i):
    getattr(m, a).copy_(torch.tanh(getattr(m, a)))


def copy_over(m, a, b, x, i):
    getattr(m, a).copy_(getattr(m, b))


def swap(m, a, b, x, i):
    old = getattr(m, a).clone()
    getattr(m, a).copy_(getattr(m, b))
    getattr(m, b).copy_(old)


def shift(m, a, b, x, i):
    getattr(m, a).copy_(torch.cat([getattr(m, a)[1:], getattr(m, b)[:1]]))


def decay_and_return_old(m, a, b, x, i):
    old = getattr(m, a).clone()
    getattr(m, a).mul_(0.5)
    return old


def state_as_weight(m, a, b, x, i):
    return nn.functional.linear(x, getattr(m, a))


def constant_weight(m, a, b, x, i):
    return torch.relu(m.linear(x)) + getattr(m, a).mean()


def choose(m, a, b, x, i):
    getattr(m, a).copy_(torch.where(x.sum() > 0, getattr(m, a), getattr(m, b) * 0.9))


def mask(m, a, b, x, i):
    getattr(m, a).masked_fill_(getattr(m, b) > 1.5, 0.25)


def count(m, a, b, x, i):
    m.count += x.shape[0]
    return m.count * 2


def toggle(m, a, b, x, i):
    m.flag.logical_not_()
    return torch.where(m.flag, x, -x)


def halves(m, a, b, x, i):
    m.sixteen.add_(x.mean(0).to(torch.float16))
    return m.sixteen * 2


def gather(m, a, b, x, i):
    return getattr(m, a)[i] + getattr(m, b).index_select(0, i)


def as_it_is(m, a, b, x, i):
    return getattr(m, a)


def narrow(m, a, b, x, i):
    return getattr(m, a)[: x.shape[0]] * x


def write_input(m, a, b, x, i):
    x.mul_(2).add_(getattr(m, a)[0])


STEPS = [
    *(accumulate, write_rows, write_one_row, put, squash, copy_over, swap, shift, choose, mask),
    *(decay_and_return_old, state_as_weight, constant_weight, count, toggle, halves, gather),
    *(as_it_is, narrow, write_input),
]


class Generated(nn.Module):
    def __init__(self, seed):
        super().__init__()
        chance = random.Random(seed)
        torch.manual_seed(seed)
        for name in ("a", "A", "a_b"):
            filled = torch.zeros if chance.random() < 0.3 else torch.randn
            start = filled(ROWS, COLUMNS)
            self.register_buffer(name, start)
        self.register_buffer("count", torch.tensor(chance.randrange(5)))
        self.register_buffer("flag", torch.tensor(chance.random() < 0.5))
        self.register_buffer("sixteen", torch.ones(COLUMNS, dtype=torch.float16))
        self.linear = nn.Linear(COLUMNS, COLUMNS)
        self.requires_grad_(False)
        self.plans = [
            [(chance.choice(STEPS), *chance.sample(("a", "A", "a_b"), 2)) for _ in range(length)]
            for length in (1, 2, 3, 4)
        ]

    def play(self, plan, x, i):
        results = [step(self, a, b, x, i) for step, a, b in self.plans[plan]]
        return tuple(r for r in results if r is not None)

    def method_0(self, x, i):
        return self.play(0, x, i)

    def method_1(self, x, i):
        return self.play(1, x, i)

    def method_2(self, x, i):
        return self.play(2, x, i)

    def method_3(self, x, i):
        return self.play(3, x, i)


def methods():
    """Every method of a generated module, with a dynamic batch of 1..MAX_BATCH."""
    batch = Dim("batch", min=1, max=MAX_BATCH)
    example = (torch.randn(3, COLUMNS), torch.tensor([2]))
    return {
        f"method_{n}": ps.Method(f"method_{n}", example, dynamic_shapes=({0: batch}, None))
        for n in range(4)
    }
