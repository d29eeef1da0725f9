"""Compares exported recurrent networks with the same networks in eager PyTorch, on one thread.

`taskset 1 python run_recurrence.py` keeps both to one processor. Each network has its state in
buffers, and takes sequences of any length. The table goes to stdout, every figure to a JSON file.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch
from run import Goal, tell_goals
from run_operators import seconds
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps

LIMIT = 1.5  # times eager's
LENGTHS = (1, 40, 500)  # steps of a sequence


class Stream(nn.Module):
    """A recurrent network that goes on where the last call ended."""

    def __init__(self, network: nn.RNNBase) -> None:
        super().__init__()
        self.network = network.eval()
        states = 2 if isinstance(network, nn.LSTM) else 1
        size = (network.num_layers, network.hidden_size)
        for name in "hc"[:states]:
            self.register_buffer(name, torch.zeros(size, dtype=network.weight_hh_l0.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Take a sequence [length, inputs] further, to [length, hidden]."""
        if isinstance(self.network, nn.LSTM):
            result, (h, c) = self.network(x, (self.h, self.c))
            self.c.copy_(c)
        else:
            result, h = self.network(x, self.h)
        self.h.copy_(h)
        return result


NETWORKS = {
    "LSTM 64 to 256, two layers": lambda: nn.LSTM(64, 256, 2),
    "LSTM 512 to 512": lambda: nn.LSTM(512, 512),
    "GRU 64 to 128": lambda: nn.GRU(64, 128),
    "RNN 64 to 128": lambda: nn.RNN(64, 128),
    "LSTM 64 to 256 of float64": lambda: nn.LSTM(64, 256, dtype=torch.float64),
    "GRU 64 to 128 of float64": lambda: nn.GRU(64, 128, dtype=torch.float64),
}


def measured(name: str, backend: str, rounds: int) -> list[dict[str, Any]]:
    """Both in turns, so that a noisy moment of the machine does not fall on one of them."""
    torch.manual_seed(0)
    model = Stream(NETWORKS[name]())
    inputs, dtype = model.network.input_size, model.h.dtype
    length = Dim("length", min=1, max=max(LENGTHS))
    example = torch.randn(9, inputs, dtype=dtype)
    method = ps.Method("forward", (example,), dynamic_shapes={"x": {0: length}})
    program = ps.export(model, {"forward": method}, backend=backend)
    found = []
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        artifact = program.save(Path(folder) / "artifact")
        session = ps.load(artifact, trust_code=True, threads=1).session()
        for steps in LENGTHS:
            x = torch.randn(steps, inputs, dtype=dtype)
            calls = (lambda x=x: session.run("forward", x)), (lambda x=x: model(x))
            for call in calls:
                call()
            pairs = [(seconds(calls[0]), seconds(calls[1])) for _ in range(rounds)]
            found.append(
                {
                    "network": name,
                    "backend": backend,
                    "steps": steps,
                    "polystate": [ours for ours, _ in pairs],
                    "eager": [eager for _, eager in pairs],
                    "ratio": statistics.median(ours / eager for ours, eager in pairs),
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    backends = ("portable", "xnnpack", "aoti")
    found = [
        line for name in NETWORKS for b in backends for line in measured(name, b, options.rounds)
    ]
    print(f"{'network':<44}{'polystate':>14}{'eager':>14}{'times':>8}")
    goals = []
    for line in found:
        what = f"{line['network']}, {line['backend']}, {line['steps']} steps"
        ours, eager = min(line["polystate"]) * 1e3, min(line["eager"]) * 1e3
        print(f"{what:<44}{ours:>11.3f} ms{eager:>11.3f} ms{line['ratio']:>8.2f}")
        goals.append(Goal(what, line["ratio"], LIMIT, "x"))
    tell_goals(goals, options.out, networks=found)


if __name__ == "__main__":
    main()
