"""A GPU inside a method.

Programs run on the CPU. A tensor that is made beside another one goes to its device.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(4, device="cuda")


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(4, device=x.device)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this asks for a GPU, and programs run on the CPU"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
