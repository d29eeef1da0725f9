"""A tensor as large as a number from another tensor.

Memory is planned when a program is exported, so each size needs a maximum. Make the tensor as
large as it gets; a mask says how much of it counts.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, n):
        return torch.ones(n.item())


class Rewrite(torch.nn.Module):
    def forward(self, n):
        return (torch.arange(64) < n).to(torch.float32)


METHODS = {"forward": ps.Method("forward", (torch.tensor(3),))}
ERROR = """depends on values and has no maximum, for which memory is planned"""
REFUSED_BY = ("portable", "xnnpack")
