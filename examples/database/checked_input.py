"""A check of an input inside the program.

torch._assert_async is an operator: calls that break it are refused with the message, and the
state stays as it was.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        torch._assert_async((x < 10).all(), "every value must be below 10")
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
