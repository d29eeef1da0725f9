"""What the settings of `export_pretrained` may be."""

from __future__ import annotations

from collections.abc import Mapping

# Recipes: a name for a backend with a quantization.
RECIPES: Mapping[str, tuple[str, str | None]] = {
    "xnnpack": ("xnnpack", None),
    "xnnpack_q8": ("xnnpack", "q8"),
    "portable": ("portable", None),
    "aoti": ("aoti", None),
    "aoti_q8": ("aoti", "q8"),
}

TASKS = ("auto", "translation", "summarization", "text2text-generation")

DEFAULT_MAX_BATCH = 64
# Of models that generate less by themselves, as far as their positions go.
DEFAULT_MAX_LENGTH = 256
