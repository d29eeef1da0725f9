"""Dropout of a model in training mode.

In training mode dropout draws numbers. model.eval() turns it off.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.5)
        self.dropout.train()

    def forward(self, x):
        return self.dropout(x) * 2


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.5)
        self.dropout.eval()

    def forward(self, x):
        return self.dropout(x) * 2


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """draws random numbers, which a program cannot draw as PyTorch does"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
