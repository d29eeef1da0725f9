"""Watches the operators of a module that runs eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_COND = torch.ops.higher_order.cond
_LOOPS = (
    torch.ops.higher_order.scan,
    torch.ops.higher_order.map_impl,
    torch.ops.higher_order.while_loop,
)


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Calls each operator through `call`, those in branches and in bodies of loops included."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether ``torch.cond`` and its like may compile themselves under the mode.

        Otherwise they never would again in this process.
        """
        return True

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function is _COND:
            chosen, operands = args[1] if bool(args[0]) else args[2], args[3]
            self.entered(chosen)
            with self:
                return chosen(*operands)
        if isinstance(function, torch._ops.OpOverload):
            return self.call(function, args, kwargs or {})
        if function in _LOOPS:
            args = tuple(under(self, each) if callable(each) else each for each in args)
        return function(*args, **(kwargs or {}))

    def entered(self, branch: Any) -> None:
        """Learns which branch of a ``cond`` is about to run."""

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls one operator."""
        return function(*args, **kwargs)


def under(mode: Operators, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs under a mode."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with mode:
            return function(*args, **kwargs)

    return run
