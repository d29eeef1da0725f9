"""A dimension without a maximum.

Memory is planned for the largest size. Give the Dim a maximum: torch.export.Dim('rows', max=8).
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x * 2


METHODS = {
    "forward": ps.Method(
        "forward", (torch.ones(3, 4),), dynamic_shapes=({0: torch.export.Dim("rows")},)
    )
}
ERROR = """has no maximum, and memory is planned at export"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
