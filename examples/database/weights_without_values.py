"""Weights on the device `meta`.

Such tensors have a shape and no values. Load the weights before the export.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4, device="meta")

    def forward(self, x):
        return self.linear(x)


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4, device="meta").to_empty(device="cpu")
        self.linear.load_state_dict({"weight": torch.ones(4, 4), "bias": torch.zeros(4)})

    def forward(self, x):
        return self.linear(x)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """the parameter 'linear.weight' is on the device 'meta' and so has no values"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
