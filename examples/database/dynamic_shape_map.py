"""A function of each row.

torch.vmap calls it for all rows at once, however many there are.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x, y):
        return torch.vmap(lambda row: row + y)(x)


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4), torch.ones(4)),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)}, None),
    )
}
