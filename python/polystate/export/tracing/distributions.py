"""Keeps the checks of distributions as they are in eager PyTorch.

Dynamo, which traces ``cond``, ends them at its first use, for the rest of the process: a program
would have them or not as something else was exported before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch._dynamo.eval_frame import TorchPatcher
from torch.distributions import Distribution


@contextlib.contextmanager
def validated() -> Iterator[None]:
    """Lets Dynamo's first use leave the checks as the user has them."""
    validates = Distribution._validate_args
    TorchPatcher.patch()
    Distribution.set_default_validate_args(validates)
    yield
