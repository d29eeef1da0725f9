"""A buffer that a method registers.

State has a first value, with which a session starts. Register it before the export.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        self.register_buffer("last", x * 1)
        return self.last + 1


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x):
        self.last.copy_(x)
        return self.last + 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """registers the buffer 'last'"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
