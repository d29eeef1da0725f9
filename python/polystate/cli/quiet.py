"""Keeps what models and libraries say from standard output, or silences it.

Silent is what libraries tell their developers, and a user of the command cannot act on.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

# They warn of parts that other machines would need, and of deprecated calls of each other.
_LOGGERS = ("huggingface_hub", "torch.utils._pytree", "torchao", "transformers")


def quiet_libraries() -> None:
    """Call this first: some speak while they are imported. Errors are heard, as exceptions."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"(torch|torchao|transformers)(\.|$)")


def quiet_transformers() -> None:
    """Imports transformers: bars of progress are for terminals."""
    from transformers.utils import logging as settings

    untyped: Any = settings
    untyped.set_verbosity_error()
    if not sys.stderr.isatty():
        untyped.disable_progress_bar()


_STDOUT, _STDERR = 1, 2


@contextlib.contextmanager
def prints_to_stderr() -> Iterator[None]:
    """Sends to stderr what anything prints during the block, also from C and in child processes."""
    stdout = sys.stdout
    _flush(stdout)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # one of them may be closed
            kept = os.dup(_STDOUT)
            stack.callback(os.close, kept)
            os.dup2(_STDERR, _STDOUT)
            stack.callback(os.dup2, kept, _STDOUT)
            stack.callback(_flush, stdout)
        yield


def _flush(stdout: TextIO | None) -> None:
    """Writes what Python and C have kept of standard output."""
    if stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            stdout.flush()
    ctypes.CDLL(None).fflush(None)
