"""How much an artifact takes, and how it keeps it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from polystate.errors import ContractError
from polystate.recipes.settings import DEFAULT_MAX_LENGTH

# The tokens of a step, where it has not more sequences: chunks of prompts are read as fast as
# products of so many rows are computed.
_STEP_TOKENS = 64


@dataclass(frozen=True)
class Capacity:
    """Sizes of an artifact.

    Attributes
    ----------
    max_sequences
        Sequences of one step: sentences times beams.
    max_source_length, max_length
        Tokens of a source, and of a whole target with its start token.
    page_size
        Positions of a page.
    dtype
        Of keys and values: float32 or float16.
    """

    max_sequences: int
    max_source_length: int
    max_length: int
    page_size: int = 16
    dtype: torch.dtype = torch.float32

    @property
    def max_step_tokens(self) -> int:
        """Tokens of one step: one of each sequence, or more of some, as far as they have room."""
        return min(max(self.max_sequences, _STEP_TOKENS), self.max_sequences * self.max_length)

    @property
    def max_wanted(self) -> int:
        """Tokens of one step whose logits are given: one of each sequence."""
        return self.max_sequences

    @property
    def source_pages(self) -> int:
        """Pages of the longest source."""
        return math.ceil(self.max_source_length / self.page_size)

    @property
    def target_pages(self) -> int:
        """Pages of the longest target."""
        return math.ceil(self.max_length / self.page_size)

    @property
    def pages(self) -> int:
        """Pages of a layer's pools for targets: at least two, so that one can be copied."""
        return max(2, self.max_sequences * self.target_pages)

    @property
    def cross_pages(self) -> int:
        """Pages of a layer's pools for sources."""
        return self.max_sequences * self.source_pages


def capacity_of(model: PreTrainedModel, max_length: int | None, max_batch: int) -> Capacity:
    """What a user asks for, or by default the lengths that the model generates by.

    Raises
    ------
    ContractError
        When it is nothing, or more than the model has positions for.
    """
    positions: int | None = getattr(model.config, "max_position_embeddings", None)
    generated = model.generation_config.max_length or 0
    wanted = max(DEFAULT_MAX_LENGTH, generated) if max_length is None else max_length
    if max_length is None and positions is not None:
        wanted = min(wanted, positions)
    for name, value in (("max_length", wanted), ("max_batch", max_batch)):
        if not isinstance(value, int) or value < 1:
            raise ContractError(f"{name} is {value}; it must be an integer of 1 or more")
    if positions is not None and wanted > positions:
        raise ContractError(f"max_length is {wanted}, and the model has {positions} positions")
    return Capacity(max_batch, wanted, wanted)
