"""The best token of logits.

argmax is a part of the program; the loop over tokens is the caller's.
"""

import torch

import polystate as ps


class Program(torch.nn.Module):
    def forward(self, logits):
        return logits.argmax(-1)


METHODS = {"forward": ps.Method("forward", (torch.tensor([[0.1, 0.9, 0.3]]),))}
