"""A buffer made by expand.

Several elements of an expanded tensor lie at one address, so that a write to one changes
others. A clone has memory of its own.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 4).expand(3, 4))

    def forward(self, x):
        self.rows = self.rows + x
        return self.rows.sum(0)


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 4).expand(3, 4).clone())

    def forward(self, x):
        self.rows = self.rows + x
        return self.rows.sum(0)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """which is expanded"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
