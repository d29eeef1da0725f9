"""An `if` on the values of a tensor.

A program has one path. A trace follows the path of the example, and would be wrong for other
values, so it is refused. torch.where computes both and chooses; torch.cond runs one of two
functions; or each path is a method of its own, and the caller chooses.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x * 3


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x * 2, x * 3)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this takes one of two paths by the values of a tensor"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
