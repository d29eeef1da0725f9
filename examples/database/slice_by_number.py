"""A slice up to a number from a tensor.

Without the number's range the size of the slice is not known. A mask keeps the shape and gives
the same sum.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, n):
        return x[: n.item()].sum()


class Rewrite(torch.nn.Module):
    def forward(self, x, n):
        return torch.where(torch.arange(4) < n, x, 0.0).sum()


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]), torch.tensor(3)))}
ERROR = """a number that is read from a tensor is used as a size or an index here"""
REFUSED_BY = ("portable", "xnnpack")
PAGE = "number_of_tensor"
