"""Complex numbers of half precision.

PyTorch itself computes next to nothing with them on a CPU.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.complex32)


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.complex64)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """a result is complex32"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
