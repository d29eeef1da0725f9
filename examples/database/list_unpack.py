"""A list of tensors as an input.

Each tensor of a list is an input of its own.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, tensors):
        first, *others = tensors
        return first + others[0]


METHODS = {"forward": ps.Method("forward", ([torch.tensor([1.0, -2.0, 3.0, 4.0]), torch.ones(4)],))}
