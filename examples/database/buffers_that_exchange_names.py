"""Two buffers that exchange their names.

State is memory, not names: both would be one memory for a moment. Copies exchange the values.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("front", torch.zeros(4))
        self.register_buffer("back", torch.ones(4))

    def forward(self, x):
        self.front, self.back = self.back, self.front
        return x + self.front


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("front", torch.zeros(4))
        self.register_buffer("back", torch.ones(4))

    def forward(self, x):
        self.front, self.back = self.back.clone(), self.front.clone()
        return x + self.front


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """sets the buffer 'front' to memory of the buffer 'back'"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
