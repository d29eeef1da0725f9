"""Where what outlives a clone is kept."""

from __future__ import annotations

import os
from pathlib import Path


def folder(name: str) -> Path | None:
    """A folder of the user's cache, which may not be there yet.

    POLYSTATE_CACHE names another cache; None where it is empty: then nothing is kept.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = os.environ.get("POLYSTATE_CACHE", str(home / "polystate"))
    return Path(cache) / name if cache else None
