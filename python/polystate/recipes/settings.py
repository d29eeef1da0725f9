"""What the settings of `export_pretrained` may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Recipes: a name for a backend with a quantization.
RECIPES: Mapping[str, tuple[str, str | None]] = {
    "xnnpack": ("xnnpack", None),
    "xnnpack_q8": ("xnnpack", "q8"),
    "portable": ("portable", None),
    "aoti": ("aoti", None),
    "aoti_q8": ("aoti", "q8"),
}

# What `quantization` may be, beside None.
QUANTIZATIONS = ("q8", "q8_0")

# Of recipes whose quantization is "q8": what suits causal language models. Their states have
# outliers, which one scale for each row leaves little of.
CAUSAL_Q8 = "q8_0"

TASKS = ("auto", "translation", "summarization", "text2text-generation", "text-generation")


@dataclass(frozen=True)
class Defaults:
    """Sizes of an artifact that a user did not choose.

    Attributes
    ----------
    max_batch
        Sequences of one step.
    max_length
        Of models that generate less by themselves, as far as their positions go.
    """

    max_batch: int
    max_length: int


ENCODER_DECODER_DEFAULTS = Defaults(max_batch=64, max_length=256)
DECODER_ONLY_DEFAULTS = Defaults(max_batch=16, max_length=2048)
