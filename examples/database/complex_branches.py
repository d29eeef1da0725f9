"""Branches of `torch.cond` that compute with complex numbers.

A program has complex numbers as pairs of real ones, and branches get tensors alone. Both branches
are computed, and one is chosen; or the branches compute with real parts, as operands of their own.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        z = torch.view_as_complex(x)
        return torch.cond(x.sum() > 0, lambda z: (z * z).abs(), lambda z: z.abs(), (z,))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        z = torch.view_as_complex(x)
        return torch.where(x.sum() > 0, (z * z).abs(), z.abs())


METHODS = {"forward": ps.Method("forward", (torch.tensor([[1.0, -2.0], [3.0, 4.0]]),))}
ERROR = """complex numbers are given to torch.cond, or to a function that torch maps"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
