"""A buffer that changes its shape.

State keeps its type and shape, since its memory is planned. Register it as large as it gets.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 4))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x[None]])
        return self.seen.sum(0)


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(64, 4))
        self.register_buffer("used", torch.tensor(1))

    def forward(self, x):
        self.seen.index_copy_(0, self.used.reshape(1), x[None])
        self.used.add_(1)
        return self.seen.sum(0)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the buffer 'seen' from float32[1, 4] to float32[2, 4]"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
