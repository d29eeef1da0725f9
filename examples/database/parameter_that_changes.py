"""A parameter that a method changes.

Parameters are constants, which all sessions share. What changes is a buffer.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.weight.add_(x)
        return x * self.weight


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(4))

    def forward(self, x):
        self.weight.add_(x)
        return x * self.weight


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the parameter 'weight'"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
