"""State in a global variable.

A program has no globals. What is kept between calls is a buffer.
"""

import torch

import polystate as ps

SEEN = []


class Program(torch.nn.Module):
    def forward(self, x):
        SEEN.append(1)
        return x * len(SEEN)


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, x):
        self.seen.add_(1)
        return x * self.seen


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """it keeps state outside of Program"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
