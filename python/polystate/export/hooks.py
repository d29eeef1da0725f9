"""Has hooks of modules run where the user's code calls modules, and nowhere else in an export."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_OF_ALL_MODULES: dict[str, Any] = vars(torch.nn.modules.module)

_aside: list[dict[str, Any]] = []  # hooks of all modules that are not set now


@contextlib.contextmanager
def set_aside() -> Iterator[None]:
    """Takes the hooks of all modules away within the block: graphs are modules, too."""
    _aside.append(_exchanged({f"_global{name}": OrderedDict() for name in _HOOKS}))
    try:
        yield
    finally:
        _exchanged(_aside.pop())


@contextlib.contextmanager
def as_set() -> Iterator[None]:
    """Puts the hooks of all modules back within the block, for the user's code."""
    before = _exchanged(_aside[-1] if _aside else {})
    try:
        yield
    finally:
        _exchanged(before)


def _exchanged(hooks: dict[str, Any]) -> dict[str, Any]:
    """Sets hooks of all modules, by their names; returns those that were set before."""
    before = {name: _OF_ALL_MODULES[name] for name in hooks}
    _OF_ALL_MODULES.update(hooks)
    return before


class BareCall:
    """Makes the call of a module its ``forward`` alone, between `begin` and `end`.

    The module's own hooks do not run then, nor a ``__call__`` that its class defines.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._hooks: dict[str, Any] = {}
        self._class: type[torch.nn.Module] = type(model)
        self._bare_class = self._class
        if self._class.__call__ is not torch.nn.Module.__call__:
            self._bare_class = _subclass(self._class, {"__call__": _plain_call})

    def begin(self) -> None:
        """Have the call be ``forward`` alone."""
        own = vars(self._model)
        self._hooks = {name: own[name] for name in _HOOKS}
        own.update({name: OrderedDict() for name in _HOOKS})
        self._model.__class__ = self._bare_class

    def end(self) -> None:
        """Have the call be the module's again."""
        self._model.__class__ = self._class
        vars(self._model).update(self._hooks)


def _subclass(parent: type[torch.nn.Module], names: dict[str, Any]) -> type[torch.nn.Module]:
    """A subclass with other attributes, made without running the user's code for subclasses.

    Such code is ``__init_subclass__``, and the constructor of a metaclass.
    """
    names = {"__module__": parent.__module__, **names}
    made = type.__new__(type(parent), parent.__name__, (torch.nn.Module,), names)
    made.__bases__ = (parent,)
    return made


def _plain_call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    return torch.nn.Module.__call__(module, *args, **kwargs)
