"""Writes the Python code of a graph when it is asked for, not after each change.

PyTorch writes and compiles it whenever a graph module is made or changed, some two hundred times
a method: a ninth of an export. Few of these modules are ever called.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from torch.fx import GraphModule
from torch.fx.graph import PythonCode, _PyTreeCodeGen

# What compiling sets in the module, beside `forward` in its class.
_TEXTS = ("_code", "_lineno_map", "_prologue_start")


@contextlib.contextmanager
def written_when_asked_for() -> Iterator[None]:
    """Does so for what is made and changed within the block, also when it is asked for later."""
    compile_now = GraphModule.recompile

    def recompile(self: GraphModule) -> _Late:
        if isinstance(self.graph._codegen, _PyTreeCodeGen):
            self._in_spec = self.graph._codegen.pytree_info.in_spec
            self._out_spec = self.graph._codegen.pytree_info.out_spec
        late = _Late(self, compile_now)
        cls: Any = type(self)  # each graph module has a class of its own
        for name in _TEXTS:
            self.__dict__.pop(name, None)
        for name in ("forward", *_TEXTS):
            setattr(cls, name, _Asked(name, late))
        cls.__reduce__ = _pickled
        self._recompile_submodules()
        return late

    with mock.patch.object(GraphModule, "recompile", recompile):
        yield


class _Late:
    """The code of a graph module, which is written at the first use of any attribute."""

    def __init__(
        self, module: GraphModule, compile_now: Callable[[GraphModule], PythonCode]
    ) -> None:
        self._module = weakref.ref(module)
        self._compile_now = compile_now
        self._code: PythonCode | None = None

    def compiled(self) -> PythonCode:
        module = self._module()
        assert module is not None, "its class is used without it"
        if self._code is None:
            for name in ("forward", *_TEXTS):
                delattr(type(module), name)
            self._code = self._compile_now(module)
        return self._code

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled(), name)


class _Asked:
    """An attribute that compiling sets; asking for it compiles."""

    def __init__(self, name: str, late: _Late) -> None:
        self._name = name
        self._late = late

    def __get__(self, module: GraphModule | None, cls: type) -> Any:
        self._late.compiled()
        return getattr(cls if module is None else module, self._name)


def _pickled(self: GraphModule) -> Any:
    """What `GraphModule.__reduce__` gives, which has the code only if it was there before."""
    self.code  # noqa: B018 (compiles)
    return GraphModule.__reduce__(self)
