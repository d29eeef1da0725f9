"""Attributes of Python.

An attribute that no method changes is a constant of the program, as it is at the export.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kind, self.factor = "double", 2

    def forward(self, x):
        return x * self.factor if self.kind == "double" else x


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
