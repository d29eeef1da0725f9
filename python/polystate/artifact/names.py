"""What names and texts of a manifest may be; its reader refuses others."""

from __future__ import annotations

import re

_LONGEST_NAME = 255  # bytes
_DOTTED_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


def is_dotted_name(name: str) -> bool:
    """Whether a name is words with dots between, as inputs, outputs, states and constants have."""
    return len(name.encode()) <= _LONGEST_NAME and _DOTTED_NAME.fullmatch(name) is not None


def printable(text: str) -> str:
    """A text on one line, without control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
