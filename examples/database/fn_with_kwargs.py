"""Keyword arguments.

Inputs that are passed by name keep their names in the artifact.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, *, scale, shift):
        return x * scale + shift


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.tensor([1.0, -2.0, 3.0, 4.0]),),
        kwargs={"scale": torch.tensor(2.0), "shift": torch.ones(4)},
    )
}
