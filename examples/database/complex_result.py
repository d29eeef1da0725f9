"""A complex result.

The program has both parts as real numbers; callers get complex arrays and tensors.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
