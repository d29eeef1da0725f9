"""Keeps torch, torchao and executorch from telling a user what only their developers can act on."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from contextvars import ContextVar

_verbose: ContextVar[bool] = ContextVar("verbose", default=False)


@contextlib.contextmanager
def verbose() -> Iterator[None]:
    """Lets libraries speak within the block, inside of `quiet` too."""
    token = _verbose.set(True)
    try:
        yield
    finally:
        _verbose.reset(token)


def is_verbose() -> bool:
    """Whether libraries may speak."""
    return _verbose.get()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silences warnings and log messages within the block; what is wrong is raised, too."""
    if _verbose.get():
        yield
        return
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
