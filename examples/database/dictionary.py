"""A dictionary inside a method.

A dictionary of the method itself is Python's, and leaves no trace.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        parts = {"double": x * 2}
        parts["sum"] = parts["double"].sum()
        return parts["double"] + parts["sum"]


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
