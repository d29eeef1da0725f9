"""Names on the hub of Hugging Face, beside paths."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


def is_name_on_the_hub(source: str | os.PathLike[str]) -> bool:
    """Whether a text may name a model on the hub, and no path: the hub may be asked for it.

    A path is what has another form than ``model`` or ``organization/model``, what is there, what
    would lie in a directory that is there, and what is no text.
    """
    if not isinstance(source, str) or not _NAME.fullmatch(source) or source.endswith(".py"):
        return False
    folder, slash, _ = source.partition("/")
    return not (os.path.lexists(source) or (slash and os.path.lexists(folder)))
