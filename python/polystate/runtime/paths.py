"""Paths as C++ takes them."""

from __future__ import annotations

import os

from polystate.errors import ContractError


def checked_path(path: str | os.PathLike[str]) -> str:
    """Give a path as a string; ContractError where no file can have it."""
    name = os.fsdecode(path)
    if "\0" in name:
        raise ContractError(f"the path {name!r} holds a zero byte")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise ContractError(f"the path {name!r} is no name of a file: {error.reason}") from error
    return name
