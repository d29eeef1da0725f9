"""Lets a model compute the logits of some tokens only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from polystate.errors import ExportError


@contextlib.contextmanager
def only_wanted(head: torch.nn.Module, wanted: torch.Tensor) -> Iterator[None]:
    """Gives a model's head the hidden states of some tokens, in the place of all, for a block.

    Parameters
    ----------
    head
        What makes logits of hidden states [batch, tokens, width], once in the block.
    wanted
        [m]: which of the batch * tokens. The head sees [1, m, width].

    Raises
    ------
    ExportError
        When the head was called more than once, or not at all.
    """
    calls = 0

    def select(_: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal calls
        calls += 1
        hidden, *others = arguments
        return hidden.flatten(0, -2)[wanted][None], *others

    hook = head.register_forward_pre_hook(select)
    try:
        yield
    finally:
        hook.remove()
    if calls != 1:
        raise ExportError(f"the model's output embedding is called {calls} times in a step")
