"""Composite operators as PyTorch itself writes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


def composed(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """Return PyTorch's own form in terms of other operators, which may be decomposed as well."""
    return functools.partial(operator._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)
