"""Two methods over one state.

Both methods of a session see the same buffer: one writes it, the other reads it.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.zeros(4))

    def write(self, x):
        self.memory.copy_(x)
        return x.sum()

    def read(self, x):
        return self.memory + x


METHODS = {
    "write": ps.Method("write", (torch.tensor([1.0, -2.0, 3.0, 4.0]),)),
    "read": ps.Method("read", (torch.ones(4),)),
}
