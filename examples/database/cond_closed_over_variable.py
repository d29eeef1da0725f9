"""A variable around a branch of `torch.cond`.

Tensors and numbers of the enclosing function are operands of the branch.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        scale = x.max()
        return torch.cond(x.sum() > 0, lambda x: x * scale, lambda x: x - scale, (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
