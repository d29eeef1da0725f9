"""A sparse result.

Tensors of programs are dense.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return (x * 2).to_sparse()


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """returns a tensor that is sparse"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
