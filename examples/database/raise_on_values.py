"""An exception because of the values of a tensor.

The `if` before the raise is a branch on values. The program can check the condition itself, and
refuse the call.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        if torch.isnan(x).any():
            raise ValueError("not a number")
        return x * 2


class Rewrite(torch.nn.Module):
    def forward(self, x):
        torch._assert_async(torch.logical_not(torch.isnan(x).any()), "not a number")
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this raises an exception because of the values of a tensor"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
