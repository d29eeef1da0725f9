"""A decorated method.

Python runs the decorator while it traces.
"""

import functools

import torch

import polystate as ps


def doubled(function):
    @functools.wraps(function)
    def wrapped(*args):
        return function(*args) * 2

    return wrapped


class Program(torch.nn.Module):
    @doubled
    def forward(self, x):
        return x + 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
