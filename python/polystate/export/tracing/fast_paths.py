"""Has eager PyTorch take the same path as a trace, and tells the user which path that is.

In inference, ``nn.TransformerEncoder`` and the modules that it is made of compute padding as zeros,
by operators that no trace reaches. Code may also ask whether it is being traced.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

from polystate.export.graph.sources import is_user_code


@contextlib.contextmanager
def closed() -> Iterator[None]:
    """Keeps PyTorch's modules from their fast paths within the block, whoever runs them."""
    with mock.patch.object(torch.backends.mha, "get_fastpath_enabled", lambda: False):
        yield


@contextlib.contextmanager
def told() -> Iterator[list[str]]:
    """Lists in words which of two paths a trace within the block takes.

    Branches of ``cond`` are left out: there PyTorch reads the code that runs, the functions below
    included, and knows no frames.
    """
    paths: list[str] = []

    def tell(path: str) -> None:
        if path not in paths:
            paths.append(path)

    def module_asks() -> bool:
        if torch.compiler.is_dynamo_compiling():
            return False
        module = sys._getframe(1).f_locals.get("self")
        tell(f"without the fast path of {type(module).__name__}")
        return False

    def with_note(ask: Callable[[], bool], name: str) -> Callable[[], bool]:
        def user_asks() -> bool:
            if torch.compiler.is_dynamo_compiling():
                return ask()
            if is_user_code(sys._getframe(1).f_code.co_filename):
                tell(f"torch.compiler.{name}() is {ask()}")
            return ask()

        return user_asks

    # PyTorch looks up once which functions it knows in branches: these, not those that follow.
    TorchInGraphFunctionVariable._get_handlers()
    patches: list[Any] = [
        mock.patch.object(torch.compiler, name, with_note(getattr(torch.compiler, name), name))
        for name in ("is_compiling", "is_exporting")
    ]
    patches.append(mock.patch.object(torch.backends.mha, "get_fastpath_enabled", module_asks))
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield paths
