"""A class method.

It is traced into the method that calls it.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    @classmethod
    def scaled(cls, x):
        return x * 2

    def forward(self, x):
        return self.scaled(x) + type(self).scaled(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
