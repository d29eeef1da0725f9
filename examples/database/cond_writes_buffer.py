"""A branch of `torch.cond` that changes a buffer.

Branches compute, and do not write. Let both return the new value of the state, and write it
after them.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def add(self, x):
        self.total.add_(x)
        return self.total * 1

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.add, torch.clone, (x,))


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        operands = (self.total, x)
        total = torch.cond(x.sum() > 0, lambda t, x: t + x, lambda t, x: t.clone(), operands)
        self.total.copy_(total)
        return torch.where(x.sum() > 0, total, x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """a branch of torch.cond changes a buffer"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
