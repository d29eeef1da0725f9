"""A number in the place of a size that varies.

The reshape has the example's size written into it, and fails for any other. Take the size of
the tensor.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.reshape(3, 2, 2)


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], 2, 2)


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
ERROR = """the code fixes a size that dynamic_shapes lets vary"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
