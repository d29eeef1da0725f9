"""A function whose result is a constant.

torch.compiler.assume_constant_result marks it: the program has what it returns at the example. That
holds for the example's values alone, so that the program checks them, and refuses others.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    @torch.compiler.assume_constant_result
    def rows(self, count):
        return int(count)

    def forward(self, x, count):
        return x[: self.rows(count)] * 2


METHODS = {"forward": ps.Method("forward", (torch.ones(6, 4), torch.tensor(3)))}
