"""A complex result.

Tensors of programs are real. torch.view_as_real has both parts.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.complex(x, x * 2)


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.view_as_real(torch.complex(x, x * 2))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """a result is complex, and tensors of programs are real"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
