"""A call of NumPy.

A program has PyTorch's operators; what NumPy computes would be a constant of the trace. Most
functions have the same name in PyTorch.
"""

import numpy as np
import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x + torch.from_numpy(np.sin(x.numpy()))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x + torch.sin(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this leaves PyTorch for NumPy"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
