"""An optional input.

What is None among the examples is fixed so: the path of the method that the example takes.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, mask=None):
        return x * 2 if mask is None else x * mask


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
