"""Python's float() of a tensor's value.

float() must give a number of Python's, which a trace does not have. A tensor without dimensions
computes as a number does, and item() gives a number that the program computes.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x / (1.0 + float(x.abs().max()))


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x / (1.0 + x.abs().max())


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0]),))}
ERROR = """float() makes a number of Python's of a tensor's value, and a trace has no values"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
