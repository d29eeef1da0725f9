"""Copies of complex numbers that are views in PyTorch: a change of one changes the number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from polystate.export.tracing.complex_parts import Complex


class _Copy(NamedTuple):
    tensor: Tensor
    of: Complex
    changed: Callable[[], Complex]


# The attribute by which such a copy, or a view of it, knows its number.
_COPY = "_polystate_copy"

# Operators of Python that change their first operand.
_CHANGING = frozenset(
    f"__{name}__" for name in ("setitem", "iadd", "isub", "imul", "itruediv", "idiv", "ipow")
)


def tie(tensor: Tensor, number: Complex, changed: Callable[[], Complex]) -> None:
    """Have a copy of a number, or of a part of it, change the number where it is changed.

    Parameters
    ----------
    changed
        Gives the number's values after the copy was changed.
    """
    setattr(tensor, _COPY, _Copy(tensor, number, changed))


def follow(function: Any, tensor: Tensor, results: Any) -> None:
    """Change a number after a function changed a copy of it in place.

    Parameters
    ----------
    tensor
        The function's first argument.
    """
    copy: _Copy | None = getattr(tensor, _COPY, None)
    if copy is None:
        return
    name = getattr(function, "__name__", "")
    if name in _CHANGING or (name.endswith("_") and not name.endswith("__")):
        copy.of._change(copy.changed())
    shares_memory: Any = getattr(torch._C, "_is_alias_of")  # noqa: B009
    for result in results if isinstance(results, list | tuple) else (results,):
        if isinstance(result, Tensor) and shares_memory(result, copy.tensor):
            setattr(result, _COPY, copy)
