"""The smaller of a size and a number.

torch.sym_min is an operator on sizes, and a part of the program.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x.sum() + torch.sym_min(x.shape[0], 5)


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
