"""A buffer's `.data`.

Setting .data gives the buffer other memory behind PyTorch's back, which a trace does not see.
Write into the buffer.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.data = self.total + x
        return self.total * 1


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.copy_(self.total + x)
        return self.total * 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """gives the buffer 'total' other memory"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
