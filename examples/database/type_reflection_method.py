"""A method of an object's type.

Python finds it while it traces.
"""

import torch

import polystate as ps


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor


class Program(torch.nn.Module):
    def forward(self, x):
        return type(Scaled(2)).apply(Scaled(2), x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
