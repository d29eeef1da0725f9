"""A list of the module that is made anew.

A list is no state: the program would have the tensors of the trace. What changes is a buffer.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [torch.ones(4), torch.ones(4)]

    def forward(self, x):
        self.parts = [self.parts[1], x * 2]
        return x + self.parts[0]


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("older", torch.ones(4))
        self.register_buffer("newer", torch.ones(4))

    def forward(self, x):
        self.older.copy_(self.newer)
        self.newer.copy_(x * 2)
        return x + self.older


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the attribute 'parts' of Program"""
PAGE = "list_that_grows"
REFUSED_BY = ("portable", "xnnpack", "aoti")
