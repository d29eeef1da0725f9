"""A counter in an attribute.

Only buffers are state. An attribute would keep the value that it had in the trace, so the
program would count no call.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the attribute 'calls' of Program from 1 to 2"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
