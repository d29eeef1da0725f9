"""One memory under two names.

A change through one name would have to be seen through the other. Register the tensor once.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        memory = torch.zeros(4)
        self.register_buffer("first", memory)
        self.register_buffer("second", memory[:2])

    def forward(self, x):
        self.first.add_(x)
        return self.first + self.second.sum()


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.zeros(4))

    def forward(self, x):
        self.first.add_(x)
        return self.first + self.first[:2].sum()


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """shares memory with"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
