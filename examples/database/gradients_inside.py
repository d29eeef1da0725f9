"""A gradient inside a method.

Programs compute forwards, and PyTorch records no gradients while it traces one. They are recorded
where they are needed, or the derivative is written with operators.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad((x * x).sum(), x)[0]


class Rewrite(torch.nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            return torch.autograd.grad((z * z).sum(), z)[0]


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """this computes gradients"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
