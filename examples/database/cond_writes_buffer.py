"""A branch of `torch.cond` that changes a buffer.

A branch may change buffers and other tensors. A tensor that only one branch changes is copied in
the other.
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


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
