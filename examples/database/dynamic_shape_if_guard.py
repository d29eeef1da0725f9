"""An `if` on a size that varies, where all sizes of the range take one path.

The condition is proved of the range, and becomes a part of the contract.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] == 16:
            return x.cos()
        return x.sin()


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
