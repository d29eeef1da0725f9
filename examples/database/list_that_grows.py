"""A cache in a list.

A list of tensors is no state, and a program has no tensors that grow. One buffer as large as it
gets, and a buffer for how much of it is used, are the same cache.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = []

    def forward(self, x):
        self.cache.append(x)
        return torch.stack(self.cache).sum(0)


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(64, 4))
        self.register_buffer("used", torch.tensor(0))

    def forward(self, x):
        self.cache.index_copy_(0, self.used.reshape(1), x[None])
        self.used.add_(1)
        return self.cache.sum(0)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the attribute 'cache' of Program"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
