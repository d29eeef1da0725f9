"""How much an artifact takes, and how it keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from polystate.errors import ContractError
from polystate.recipes.settings import DECODER_ONLY_DEFAULTS, ENCODER_DECODER_DEFAULTS

# The tokens of a step, where it has not more sequences: chunks of prompts are read as fast as
# products of so many rows are computed.
_STEP_TOKENS = 64

# The longest sequences that have room while it is shown what an artifact does: pools of all would
# take more memory than a model.
_TRIED_SEQUENCES = 3


@dataclass(frozen=True)
class Capacity:
    """Sizes of an artifact.

    Attributes
    ----------
    max_sequences
        Sequences of one step: sentences times beams.
    max_source_length
        Tokens of a source; None for models without an encoder.
    max_length
        Tokens of a whole sequence: a prompt, or a target with its start token, and what follows.
    page_size
        Positions of a page.
    dtype
        Of keys and values: float32 or float16.
    """

    max_sequences: int
    max_source_length: int | None
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
    def source_length(self) -> int:
        """Tokens of the longest source; 0 for models without an encoder."""
        return self.max_source_length or 0

    @property
    def source_pages(self) -> int:
        """Pages of the longest source."""
        return math.ceil(self.source_length / self.page_size)

    @property
    def pages_of_sequence(self) -> int:
        """Pages of the longest sequence."""
        return math.ceil(self.max_length / self.page_size)

    @property
    def pages(self) -> int:
        """Pages of a layer's pools for sequences: at least two, so that one can be copied."""
        return max(2, self.max_sequences * self.pages_of_sequence)

    @property
    def tried_pages(self) -> int:
        """Pages of a layer's pools while it is shown what an artifact does, without an encoder."""
        if self.max_source_length is not None:
            return self.pages
        return min(self.pages, max(2, self.tried_sequences * self.pages_of_sequence))

    @property
    def tried_sequences(self) -> int:
        """The longest sequences that have room in ``tried_pages``."""
        return _TRIED_SEQUENCES

    @property
    def cross_pages(self) -> int:
        """Pages of a layer's pools for sources."""
        return self.max_sequences * self.source_pages


def capacity_of(model: PreTrainedModel, max_length: int | None, max_batch: int | None) -> Capacity:
    """What a user asks for, or by default the lengths that the model generates by.

    Raises
    ------
    ContractError
        When it is nothing, or more than the model has positions for.
    """
    has_encoder = model.config.is_encoder_decoder
    defaults = ENCODER_DECODER_DEFAULTS if has_encoder else DECODER_ONLY_DEFAULTS
    config = model.config.get_text_config()
    positions = _positions_of(config)
    generated = model.generation_config.max_length or 0
    wanted = max(defaults.max_length, generated) if max_length is None else max_length
    if max_length is None and positions is not None:
        wanted = min(wanted, positions)
    batch = defaults.max_batch if max_batch is None else max_batch
    for name, value in (("max_length", wanted), ("max_batch", batch)):
        if not isinstance(value, int) or value < 1:
            raise ContractError(f"{name} is {value}; it must be an integer of 1 or more")
    if positions is not None and wanted > positions:
        raise ContractError(f"max_length is {wanted}, and the model has {positions} positions")
    return Capacity(batch, wanted if has_encoder else None, wanted)


def _positions_of(config: PreTrainedConfig) -> int | None:
    """The positions that a model is made for; None where it has no limit.

    Where rotary embeddings are scaled from an original length, which some configurations still
    give as the whole, as many times that as they are scaled by.
    """
    positions: int | None = getattr(config, "max_position_embeddings", None)
    scaling = getattr(config, "rope_parameters", None) or {}
    of_layers = [scaling, *(each for each in scaling.values() if isinstance(each, Mapping))]
    for each in of_layers:
        original, factor = each.get("original_max_position_embeddings"), each.get("factor")
        if positions is not None and original is not None and factor is not None:
            positions = max(positions, int(original * factor))
    return positions
