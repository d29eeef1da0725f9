"""Several operands of `torch.cond`.

All operands reach both branches; sizes may vary.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, (x, x * 2))


METHODS = {
    "forward": ps.Method(
        "forward",
        (torch.ones(3, 4),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=8)},),
    )
}
