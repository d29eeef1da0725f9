"""Complex state.

A filter whose state turns as it fades. Complex buffers are changed in place as real ones are, and a
session's state has complex arrays.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("resonance", torch.zeros(3, dtype=torch.complex64))
        self.register_buffer("turn", torch.polar(torch.full((3,), 0.9), torch.arange(1.0, 4.0)))

    def forward(self, x):
        self.resonance.mul_(self.turn).add_(x)
        return self.resonance.real.sum()


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0]),))}
