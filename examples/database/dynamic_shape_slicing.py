"""Slices by sizes.

The ends and steps of slices may be expressions of sizes.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x[: x.shape[0] - 1, : x.shape[1] : 2] * 2


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
