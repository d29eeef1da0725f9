"""A file that takes its place as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole_file(path: Path, content: bytes) -> None:
    """Writes a file. Until that is on the disk, what stood at its path stays there.

    A symbolic link is followed. What is there and no file, as a pipe is, is written to.

    Raises
    ------
    OSError
        When it cannot be written. What stood there still does.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    target = Path(os.path.realpath(path))
    staged = target.with_name(f".polystate-{secrets.token_hex(8)}")
    try:
        with staged.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            staged.unlink()
        raise
