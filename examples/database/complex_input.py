"""A complex input.

Tensors of programs are real: pass both parts as a last dimension of two.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.view_as_real(x * 2)


METHODS = {"forward": ps.Method("forward", (torch.ones(4, dtype=torch.complex64),))}
ERROR = """is not supported, since tensors of programs are real"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
