"""Silences what libraries tell their developers, and a user of the command cannot act on."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

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
