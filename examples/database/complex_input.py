"""A complex input.

The program has both parts as real numbers; callers pass complex arrays and tensors.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.abs() * 2


METHODS = {
    "forward": ps.Method("forward", (torch.tensor([1 + 2j, -2j, 3.0, 4 - 1j]),)),
}
