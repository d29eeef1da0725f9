"""A function of Python's for each element.

`apply_` and `map_` call Python for every element, and a program has PyTorch's operators only.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.clone().apply_(lambda value: max(value, 0.0))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.zeros_like(x))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0]),))}
ERROR = """this works on the elements of a tensor outside of PyTorch's operators"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
