"""A method that gives nothing.

There is nothing to compute: neither a result nor a state that it changes.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return None


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """the method neither returns a tensor nor changes a buffer"""
REFUSED_BY = ("portable", "xnnpack")
