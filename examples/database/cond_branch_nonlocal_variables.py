"""Variables of the method in a branch of `torch.cond`.

Tensors that a branch reads are operands, and numbers are tensors of the method.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        shifted, factor = x + 100, torch.full((), 3.5)

        def positive(x, shifted, factor):
            return x + shifted * factor

        def other(x, shifted, factor):
            return x - shifted * factor

        return torch.cond(x.sum() > 0, positive, other, (x, shifted, factor))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
