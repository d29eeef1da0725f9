"""A running mean.

Two buffers that start with values of their own; a session can be reset to them.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(4.0))
        self.register_buffer("mean", torch.tensor(0.5))

    def forward(self, x):
        count = self.count + x.numel()
        self.mean.add_((x.sum() - x.numel() * self.mean) / count)
        self.count.copy_(count)
        return self.mean * 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
