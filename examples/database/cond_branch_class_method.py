"""Methods as branches of `torch.cond`.

A branch may be a method of the module, and use its weights.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def scaled(self, x):
        return x * self.weight

    def shifted(self, x):
        return x + self.weight

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.scaled, self.shifted, (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
