"""Functions inside a method.

They are traced into it, with the variables around them.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        total = x.sum()

        def shifted(y):
            return y + total

        return shifted(x * 2)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
