"""A number as a result.

Programs return tensors: a number becomes a tensor without dimensions, int64, float64 or bool. Here
it follows from a size that varies.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.shape[0] + 1


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
