"""A method that changes its input.

The program returns the new value, and the runtime writes it into the caller's tensor after the
call has succeeded.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x.sum()


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
