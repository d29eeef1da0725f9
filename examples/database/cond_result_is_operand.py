"""A branch of `torch.cond` that returns a view.

The results of branches have memory of their own. A clone is a new tensor.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x[:2], lambda x: x[:2] * 2, (x,))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x[:2].clone(), lambda x: x[:2] * 2, (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """a branch of torch.cond returns one of its operands or a view of one"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
