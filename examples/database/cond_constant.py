"""A branch of `torch.cond` that makes a tensor of numbers.

A tensor of Python's numbers is a constant, which the graph of a branch cannot hold. A buffer
can.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.cond(
            x.sum() > 0, lambda x: x * torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.clone, (x,)
        )


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * self.scale, torch.clone, (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """a branch of torch.cond makes a tensor of Python's numbers"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
