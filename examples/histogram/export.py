"""How often values of a stream lie where, and their quantiles. Usage: export.py ARTIFACT"""

import sys

import torch
from torch import Tensor
from torch.export import Dim

import polystate as ps

BINS, LOW, HIGH = 200, 0.0, 100.0


class Histogram(torch.nn.Module):
    """Counts of BINS equal parts of LOW to HIGH; values outside count for the first or the last."""

    counts: Tensor
    edges: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(BINS, dtype=torch.int64))
        self.register_buffer("edges", torch.linspace(LOW, HIGH, BINS + 1))

    def add(self, values: Tensor) -> Tensor:
        """Count values [count]; return how many there are by now."""
        places = torch.bucketize(values, self.edges[1:-1], right=True)
        self.counts.index_add_(0, places, torch.ones_like(places))
        return self.counts.sum()

    def quantiles(self, shares: Tensor) -> Tensor:
        """The values below which these shares of all values lie, 0 to 1 [shares]."""
        below = torch.cat([torch.zeros(1, dtype=torch.int64), self.counts.cumsum(0)])
        wanted = shares * below[-1]
        bins = torch.searchsorted(below, wanted.ceil().long()).clamp(1, BINS) - 1
        part = (wanted - below[bins]) / self.counts[bins].clamp(min=1)
        return self.edges[bins] + part.clamp(0, 1) * (self.edges[1] - self.edges[0])


def program() -> tuple[torch.nn.Module, dict[str, ps.Method]]:
    values = torch.linspace(-1.0, 101.0, 7)
    shares = torch.tensor([0.25, 0.5, 1.0])
    return Histogram(), {
        "add": ps.Method("add", (values,), dynamic_shapes=({0: Dim("count", min=1, max=4096)},)),
        "quantiles": ps.Method(
            "quantiles", (shares,), dynamic_shapes=({0: Dim("shares", min=1, max=100)},)
        ),
    }


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])
