"""A `while` on the values of a tensor.

How often the loop runs differs from call to call, and a program is a fixed list of operators.
Run the loop as often as it may be needed; torch.where keeps what is done already.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        while x.norm() > 1:
            x = x / 2
        return x


class Rewrite(torch.nn.Module):
    def forward(self, x):
        for _ in range(8):
            x = torch.where(x.norm() > 1, x / 2, x)
        return x


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """how often this loop runs depends on the values of a tensor"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
