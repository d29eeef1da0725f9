"""What decides `torch.cond`.

The predicate is a bool tensor of one element, which the program computes.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        wanted = torch.logical_and(x.max() > 2, x.min() < 0)
        return torch.cond(wanted, lambda x: x.sin(), lambda x: x.cos(), (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
