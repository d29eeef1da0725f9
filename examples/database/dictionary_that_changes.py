"""A cache in a dictionary.

What a dictionary holds is no state. Each of its values is a buffer of its own.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {"key": torch.zeros(4)}

    def forward(self, x):
        self.cache["key"] = self.cache["key"] + x
        return self.cache["key"] * 1


class Rewrite(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache_key", torch.zeros(4))

    def forward(self, x):
        self.cache_key.add_(x)
        return self.cache_key * 1


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
ERROR = """changes the attribute 'cache' of Program"""
REFUSED_BY = ("portable", "xnnpack", "aoti")
