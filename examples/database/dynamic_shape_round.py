"""Half of a size that varies.

Integer arithmetic on sizes is a part of the program.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x[: x.shape[0] // 2] * 2


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
