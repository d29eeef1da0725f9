"""A view with a size that varies.

-1 or x.shape[0] stands for the size.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], 2, 2).transpose(0, 1) * 2


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
