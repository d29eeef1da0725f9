"""A model of transformers whose logits are hashes of its tokens, as the fake engine's in C++."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

MASK = 2**64 - 1


def mix(value: int) -> int:
    """Return SplitMix64's output for ``value`` (src/sampler/random.h)."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def mixed(values: np.ndarray) -> np.ndarray:
    """Return ``mix`` of many values."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@functools.lru_cache(maxsize=1 << 16)
def folded(seed: int, tokens: tuple[int, ...]) -> int:
    """Return the hash of a sequence."""
    return seed if not tokens else mix(folded(seed, tokens[:-1]) ^ (tokens[-1] & MASK))


@functools.lru_cache(maxsize=1 << 16)
def logits(config: HashConfig, source: tuple[int, ...], tokens: tuple[int, ...]) -> torch.Tensor:
    """Return the logits after ``tokens``, of shape [vocabulary]: fake_logits in C++."""
    start = folded(config.seed, (*source, -1, *tokens))
    bits = mixed(np.uint64(start) + np.arange(config.vocab_size, dtype=np.uint64))
    small = (bits >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return torch.from_numpy(small * np.float32(config.scale))


class HashConfig(PreTrainedConfig):
    """Sizes and seed of a HashModel."""

    model_type = "polystate_hash"

    def __init__(self, vocab_size: int = 40, seed: int = 1, scale: float = 8.0, **rest: Any):
        super().__init__(is_encoder_decoder=True, **rest)
        self.vocab_size = vocab_size
        self.seed = seed
        self.scale = scale

    def __hash__(self) -> int:
        return hash((self.vocab_size, self.seed, self.scale))


class HashEncoder(torch.nn.Module):
    """Gives the tokens themselves."""

    main_input_name = "input_ids"

    def forward(self, input_ids: torch.Tensor, **_: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=input_ids[:, :, None].float())


class HashModel(PreTrainedModel, GenerationMixin):
    """An encoder-decoder without a cache."""

    config_class = HashConfig
    main_input_name = "input_ids"

    def __init__(self, config: HashConfig):
        super().__init__(config)
        self.encoder = HashEncoder()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.generation_config = GenerationConfig(use_cache=False)

    def get_encoder(self, modality: str | None = None) -> HashEncoder:
        return self.encoder

    def prepare_inputs_for_generation(self, input_ids: torch.Tensor, **rest: Any) -> dict[str, Any]:
        return {"decoder_input_ids": input_ids, "encoder_outputs": rest["encoder_outputs"]}

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        attention_mask: torch.Tensor | None = None,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        sources = encoder_outputs.last_hidden_state[:, :, 0].long().tolist()
        rows = [
            logits(self.config, tuple(source), tuple(tokens))
            for source, tokens in zip(sources, decoder_input_ids.tolist(), strict=True)
        ]
        return Seq2SeqLMOutput(logits=torch.stack(rows)[:, None])
