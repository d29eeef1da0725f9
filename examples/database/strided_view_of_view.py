"""A change through `as_strided` of a view.

PyTorch can follow changes through a chain of views, but not where one of them is `as_strided` (or
`fill_diagonal_`, which is written with it): its strides are those of memory, not those of a view.
Other views say the same.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("grid", torch.zeros(4, 6))

    def forward(self, x):
        self.grid.add_(x)
        self.grid[:, :4].fill_diagonal_(1.0)
        return self.grid * 2


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("grid", torch.zeros(4, 6))

    def forward(self, x):
        self.grid.add_(x)
        self.grid[:, :4].diagonal().fill_(1.0)
        return self.grid * 2


METHODS = {"forward": ps.Method("forward", (torch.arange(24.0).reshape(4, 6),))}
ERROR = """this changes a tensor through as_strided of another view"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
