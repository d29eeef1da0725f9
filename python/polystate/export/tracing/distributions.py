"""Keeps the checks of distributions as they are in eager PyTorch.

Dynamo, which traces ``cond``, turns them off when it is first used, for the rest of the process.
Whether a program has them would depend on what was exported before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch._dynamo.eval_frame import TorchPatcher
from torch.distributions import Distribution


@contextlib.contextmanager
def validated() -> Iterator[None]:
    """Has Dynamo turn them off now, and then puts the user's setting back."""
    validates = Distribution._validate_args
    TorchPatcher.patch()
    Distribution.set_default_validate_args(validates)
    yield
