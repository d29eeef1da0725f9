"""A size from a tensor, with its range.

torch._check tells the trace how large the tensor may be; memory is planned for the largest.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, n):
        size = n.item()
        torch._check(size >= 0)
        torch._check(size <= 5)
        return torch.zeros(size, 5)


METHODS = {"forward": ps.Method("forward", (torch.tensor(4),))}
