"""Noise.

The runtime has no generator that gives PyTorch's numbers. The caller draws them and passes them
as an input.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """draws random numbers, which a program cannot draw as PyTorch does"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
