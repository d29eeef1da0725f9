"""A clock.

A method that gives something else each time, though nothing has changed, cannot be compared
with its program. Pass the time as an input.
"""

import time

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        return x * (time.perf_counter_ns() % 1000)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """gives something else when it is called again"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
PAGE = "state_in_a_global"
