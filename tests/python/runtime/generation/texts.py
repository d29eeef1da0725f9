"""A text that these tests translate, and its answer."""

from __future__ import annotations

from typing import Any

import polystate as ps

TEXT = "I like it very much."


def greedy(translate: ps.Pipeline, text: str, **names: Any) -> str:
    """Return the translation by the most probable tokens."""
    answer: str = translate(text, num_beams=1, **names)[0]["translation_text"]
    return answer
