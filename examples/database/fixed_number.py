"""A Python number among the examples.

Numbers, texts and None among the examples are constants of the method; only tensors are inputs.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, times):
        return x * times


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]), 3))}
