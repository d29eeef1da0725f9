"""A sparse input.

Tensors of programs are dense: pass x.to_dense().
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.to_dense() * 2


METHODS = {"forward": ps.Method("forward", (torch.eye(3).to_sparse(),))}
ERROR = """is sparse, and tensors of programs are dense"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
