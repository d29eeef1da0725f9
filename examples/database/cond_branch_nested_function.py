"""Functions inside branches of `torch.cond`.

A branch may define and call functions.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        def positive(x):
            def scale(y):
                return y * 2

            return scale(x)

        return torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
