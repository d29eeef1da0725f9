"""A detector that hears a stream in pieces of any length. Usage: export.py ARTIFACT"""

import sys

import torch
from torch import nn
from torch.export import Dim

import polystate as ps

CHANNELS, WIDTH, WINDOW = 3, 16, 32


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lstm = nn.LSTM(CHANNELS, WIDTH)
        self.head = nn.Linear(WIDTH, 1)
        self.register_buffer("hidden", torch.zeros(1, 1, WIDTH))
        self.register_buffer("cell", torch.zeros(1, 1, WIDTH))
        self.register_buffer("scores", torch.zeros(WINDOW))  # a ring: the last ones
        self.register_buffer("place", torch.tensor(0))  # of the next score

    def listen(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gives a score for each sample [count, CHANNELS], and the mean of the last WINDOW."""
        states = (self.hidden, self.cell)
        found, (hidden, cell) = self.lstm(samples[:, None], states)  # a batch of one
        self.hidden.copy_(hidden)
        self.cell.copy_(cell)
        scores = torch.sigmoid(self.head(found))[:, 0, 0]
        count = samples.shape[0]
        places = (self.place + torch.arange(count)) % WINDOW
        self.scores.index_copy_(0, places, scores)
        self.place.copy_((self.place + count) % WINDOW)
        return scores, self.scores.mean()


def program() -> tuple[torch.nn.Module, dict[str, ps.Method]]:
    sizes = ({0: Dim("count", min=1, max=WINDOW)},)
    example = torch.zeros(5, CHANNELS)
    return Detector().eval(), {
        "listen": ps.Method("listen", args=(example,), dynamic_shapes=sizes),
    }


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])
