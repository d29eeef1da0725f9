"""An operator of your own without a rule for shapes.

A trace computes with shapes alone. torch.library.register_fake gives an operator its rule; then
an engine needs a kernel of it, which it has of PyTorch's operators.
"""

import torch

import polystate as ps


@torch.library.custom_op("example_database::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


class Program(torch.nn.Module):
    def forward(self, x):
        return tripled(x) + 1


class Rewrite(torch.nn.Module):
    def forward(self, x):
        return x * 3 + 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """PyTorch cannot trace this operator"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
