"""A Python loop over a dimension that varies.

The loop is unrolled for the rows of the example. Operators over the whole tensor take any
number of rows.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.stack([row * 2 for row in x])


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x * 2


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
ERROR = """the code fixes a size that dynamic_shapes lets vary"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
PAGE = "fixed_size"
