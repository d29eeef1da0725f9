"""A text as a result.

Programs return tensors. What is fixed belongs to the constants of the export, or is a tensor.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return {"label": "cat", "score": x * 2}


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return {"label": torch.tensor(3), "score": x * 2}


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """is no tensor but a Python str"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
