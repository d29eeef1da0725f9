"""A `torch.autograd.Function`.

Its forward is traced as any other function.
"""

import torch

import polystate as ps


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Program(torch.nn.Module):
    def forward(self, x):
        return Doubled.apply(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
