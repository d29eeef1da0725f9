"""A loop that runs a fixed number of times.

The loop is unrolled.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, x):
        results = []
        for i in range(3):
            results.append(x * i)  # noqa: PERF401 (the loop is what this shows)
        return torch.stack(results)


METHODS = {"forward": ps.Method("forward", (torch.tensor([1.0, -2.0, 3.0, 4.0]),))}
