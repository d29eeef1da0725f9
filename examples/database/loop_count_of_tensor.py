"""A `for` loop that runs as often as a tensor says.

The number is read from a tensor, so that it differs from call to call. Loop as often as it can
be, and compare with the number inside.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, n):
        for _ in range(int(n)):
            x = x * 2
        return x


class Rewrite(torch.nn.Module):
    def forward(self, x, n):
        for i in range(8):
            x = torch.where(i < n, x * 2, x)
        return x


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]), torch.tensor(3)))}
ERROR = """a number that is read from a tensor says how often this loop runs"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
