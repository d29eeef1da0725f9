"""The operator namespace ``polystate`` and the way its operators enter it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# PyTorch declares no types for it.
_Library: Any = torch.library.Library
_LIBRARY = _Library("polystate", "DEF")


def define(schema: str, reference: Callable[..., Any], fake: Callable[..., Any]) -> None:
    """Define an operator.

    Parameters
    ----------
    schema
        Name, arguments and result as :mod:`torch.library` writes them, without the namespace.
    reference
        The eager form, for every backend: what the operator means.
    fake
        The form for tensors that have a shape but no values.
    """
    name = schema.partition("(")[0]
    _LIBRARY.define(schema)
    _LIBRARY.impl(name, reference, "CompositeExplicitAutograd")
    _LIBRARY.impl(name, fake, "Meta")


def define_with_out(
    name: str, arguments: str, reference: Callable[..., torch.Tensor], fake: Callable[..., Any]
) -> None:
    """Define an operator that returns a new tensor, and the ``.out`` form that ExecuTorch calls.

    Parameters
    ----------
    arguments
        As in a schema: ``Tensor x, int id``. Those that it changes may be marked up to ``(y!)``.
    """

    def into_out(*arguments: Any, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(reference(*arguments))

    def fake_into_out(*_: Any, out: torch.Tensor) -> torch.Tensor:
        return out

    define(f"{name}({arguments}) -> Tensor", reference, fake)
    define(f"{name}.out({arguments}, *, Tensor(z!) out) -> Tensor(z!)", into_out, fake_into_out)
