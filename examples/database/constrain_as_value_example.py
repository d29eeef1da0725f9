"""A number from a tensor, with its range.

torch._check tells the trace what the number may be, and the program checks it.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, i):
        k = i.item()
        torch._check(k >= 0)
        torch._check(k < 4)
        return x.narrow(0, k, 1) * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]), torch.tensor(2)))}
