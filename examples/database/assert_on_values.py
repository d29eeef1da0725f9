"""An `assert` on the values of a tensor.

Python's assert is a branch, of which a trace sees one side. torch._assert_async is an operator:
the program checks it in every call, and refuses the call with the message.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        assert x.sum() > 0, "the sum must be positive"
        return x * 2


class Rewrite(torch.nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() > 0, "the sum must be positive")
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this asserts something of the values of a tensor in Python"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
