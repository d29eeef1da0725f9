"""An operator whose result's shape depends on values.

PyTorch has no rule for the shape of its result. Compute it in the caller, or another way.
"""

import torch
from torch.nn import functional

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        scores = x.reshape(4, 1, 1).log_softmax(-1)
        return functional.ctc_loss(scores, torch.zeros(1, 1, dtype=torch.int64), (4,), (1,))


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """the shape of this operator's result depends on the values"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
