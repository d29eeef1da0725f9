"""Functions of PyTorch's that a trace calls in another form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

from polystate.export.tracing import (
    asking_functions,
    element_indices,
    fixing_functions,
    foreach_functions,
    parts,
    pools,
    randomness,
    windows,
)

# Each gives NotImplemented where PyTorch's own is called.
_FUNCTIONS = {
    **asking_functions.FUNCTIONS,
    **element_indices.FUNCTIONS,
    **fixing_functions.FUNCTIONS,
    **foreach_functions.FUNCTIONS,
    **parts.FUNCTIONS,
    **pools.FUNCTIONS,
    **randomness.FUNCTIONS,
    **windows.FUNCTIONS,
}


class ReplacedFunctions(TorchFunctionMode):
    """Calls them within its block, and those of another table."""

    def __init__(self, others: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self._functions = {**_FUNCTIONS, **others}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        written = self._functions.get(func)
        if written is not None and _takes(written, args, kwargs):
            result = written(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return func(*args, **kwargs)


def _takes(written: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments are of its form: PyTorch has other names of some, and ``out``."""
    try:
        inspect.signature(written).bind(*args, **kwargs)
    except TypeError:
        return False
    return True
