"""A branch on a size that varies.

Sizes within dynamic_shapes all run one program. Narrow the Dim to the sizes of one path, and
export a method for each; or compute what both paths have in common.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:
            return x * 2
        return x * 3


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return torch.where(torch.full((), x.shape[0]) > 4, x * 2, x * 3)


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
ERROR = """the code takes another path at other sizes of 'rows'"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
