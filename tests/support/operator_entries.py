"""PyTorch's own list of operators, with samples of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


@functools.cache
def operator_entries() -> tuple[Any, ...]:
    """The entries of ``op_db``. Importing them takes seconds.

    At every sample PyTorch searches the stack for a test case of ``unittest``, which takes longer
    than most samples. Tests here are functions, so that the search is left out. Entries that draw
    numbers set the seed before each call; here they do not, and give other numbers each time.
    """
    from torch.testing._internal import common_methods_invocations, common_utils
    from torch.testing._internal.opinfo import core

    for module in (common_utils, core):
        module.extract_test_fn = lambda: None
    common_methods_invocations.wrapper_set_seed = _called
    return tuple(common_methods_invocations.op_db)


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
