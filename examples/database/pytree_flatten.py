"""Nested results.

Tuples, lists and dictionaries of tensors keep their structure.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return {"double": x * 2, "parts": [x + 1, (x - 1, x.sum())]}


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
