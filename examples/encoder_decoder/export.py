"""A toy with an encoder, a decoder and a memory between them. Usage: export.py ARTIFACT"""

import sys

import torch
from torch import nn
from torch.export import Dim

import polystate as ps

VOCABULARY = 32
LONGEST = 16
WIDTH = 24


class EncoderDecoder(nn.Module):
    """The encoder writes a memory once; the decoder attends to it, one token a call."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.Linear(WIDTH, WIDTH)
        self.recurrence = nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(2 * WIDTH, VOCABULARY)
        self.register_buffer("positions", torch.arange(LONGEST), persistent=False)
        self.register_buffer("memory", torch.zeros(LONGEST, WIDTH))
        self.register_buffer("length", torch.tensor(1))
        self.register_buffer("hidden", torch.zeros(WIDTH))

    def encode(self, tokens: torch.Tensor) -> None:
        # tokens: [length]
        self.memory[: tokens.shape[0]] = torch.tanh(self.encoder(self.embedding(tokens)))
        self.length.fill_(tokens.shape[0])
        self.hidden.zero_()

    def decode(self, token: torch.Tensor) -> torch.Tensor:
        # token: [1]; gives the logits of the next one, [vocabulary]
        step = torch.cat([self.embedding(token)[0], self.hidden])
        hidden = torch.tanh(self.recurrence(step))
        scores = self.memory @ hidden
        scores = scores.masked_fill(self.positions >= self.length, float("-inf"))
        context = torch.softmax(scores, dim=0) @ self.memory
        self.hidden.copy_(hidden)
        return self.head(torch.cat([hidden, context]))


def program() -> tuple[nn.Module, dict[str, ps.Method]]:
    sizes = ({0: Dim("length", min=1, max=LONGEST)},)
    return EncoderDecoder().eval(), {
        "encode": ps.Method("encode", args=(torch.tensor([1, 2, 3]),), dynamic_shapes=sizes),
        "decode": ps.Method("decode", args=(torch.tensor([1]),)),
    }


if __name__ == "__main__":
    ps.export(*program(), constants={"start_token": 0, "longest": LONGEST}).save(sys.argv[1])
