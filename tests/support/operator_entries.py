"""PyTorch's own list of operators, with samples of their arguments."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def operator_entries() -> tuple[Any, ...]:
    """The entries of ``op_db``. Importing them takes seconds.

    At every sample PyTorch searches the stack for a test case of ``unittest``, which takes longer
    than most samples. Tests here are functions, so that the search is left out.
    """
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    for module in (common_utils, core):
        module.extract_test_fn = lambda: None
    return tuple(op_db)
