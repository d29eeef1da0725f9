"""Branches of `torch.cond` whose results differ in form.

Both branches fill the same result: one shape, one type, one place. Copies of the parts have it.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x[:2], lambda x: x[2:], (x,))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x[:2].clone(), lambda x: x[2:].clone(), (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """the branches of torch.cond return tensors of different form"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
