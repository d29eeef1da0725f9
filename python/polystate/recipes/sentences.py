"""What libraries raise, in a sentence of a message."""

from __future__ import annotations


def first_sentence(error: BaseException) -> str:
    """The first line of what an exception says, with the next one where it announces that.

    The name of its type, where it says nothing.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
