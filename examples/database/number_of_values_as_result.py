"""A number that is read from a tensor, as a result.

What `item()` reads is a tensor without dimensions again where the program returns it.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x * 2, (x > 0).sum().item()


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
