"""Rows from a number on that is read from a tensor, without its range.

`item()` makes a number that the trace knows nothing of: it might be negative, or past the end.
torch._check says its range, and the program checks it; indices that stay a tensor need none. A
single element or row, `table[i]`, exports as it is.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, table, i):
        return table.narrow(0, i.item(), 2)


class Rewrite(torch.nn.Module):
    def forward(self, table, i):
        return table.index_select(0, i + torch.arange(2))


METHODS = {"forward": ps.Method("forward", (torch.ones(6, 4), torch.tensor(2)))}
ERROR = """a number that is read from a tensor is used as a size or an index here"""
REFUSED_BY = ("portable", "xnnpack")
