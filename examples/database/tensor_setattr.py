"""An attribute that is set by name.

setattr on a buffer is an assignment: the buffer is state.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        setattr(self, "to" + "tal", self.total + x)
        return self.total * 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
