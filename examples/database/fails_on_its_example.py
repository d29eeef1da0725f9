"""A method that fails on its own example.

The message has PyTorch's words and the line.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(3)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """fails on its own examples"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
