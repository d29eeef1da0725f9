"""Mean and variance of all values seen so far (Welford's algorithm). Usage: export.py ARTIFACT"""

import sys

import torch
from torch.export import Dim

import polystate as ps


class RunningStatistic(torch.nn.Module):
    """Starts from a prior: four measurements around 20."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(4.0))
        self.register_buffer("mean", torch.tensor(20.0))
        self.register_buffer(
            "squares", torch.tensor(6.0)
        )  # the sum of squared differences from the mean

    def update(self, values: torch.Tensor) -> None:
        # Chan, Golub and LeVeque: two sets of measurements merge without a second look at either.
        count = self.count + values.shape[0]
        difference = values.mean() - self.mean
        squares = (values - values.mean()).square().sum()
        self.squares += squares + difference.square() * self.count * values.shape[0] / count
        self.mean += difference * values.shape[0] / count
        self.count.copy_(count)

    def read(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.mean.clone(), self.squares / (self.count - 1)

    def start(self, value: torch.Tensor) -> None:
        self.count.fill_(1.0)
        self.mean.copy_(value)
        self.squares.fill_(0.0)


def program() -> tuple[torch.nn.Module, dict[str, ps.Method]]:
    sizes = ({0: Dim("count", min=1, max=1000)},)
    return RunningStatistic(), {
        "update": ps.Method("update", args=(torch.ones(3),), dynamic_shapes=sizes),
        "read": ps.Method("read"),
        "start": ps.Method("start", args=(torch.tensor(0.0),)),
    }


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])
