"""An assertion on a size.

What holds for all sizes of the range is proved when the method is traced.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        assert x.shape[0] > 1
        return x * 2


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
