"""`in` of a list.

Sizes that do not vary are Python numbers.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        assert x.shape[0] in [2, 4]
        assert "other" not in ["one", "two"]
        return x * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
