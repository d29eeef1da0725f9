"""What is at a path that a user gave, which may be no path at all."""

from __future__ import annotations

import os
from pathlib import Path


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Whether a directory is there, and can be found; False also where the name is too long."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """The same of a file."""
    try:
        return Path(path).is_file()
    except OSError:
        return False
