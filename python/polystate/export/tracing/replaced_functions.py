"""Functions of PyTorch's that a trace calls in another form.

Where a method calls ``cond``, PyTorch reads the code below instead of running it, so that it has to
be plain.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from polystate.export.tracing import (
    asking_functions,
    element_indices,
    fixing_functions,
    foreach_functions,
    margins,
    observers,
    parts,
    pools,
    randomness,
    single_values,
    windows,
)

# Options that change nothing at None and at these values: a program runs on the CPU, and has no
# gradients.
_IDLE: Mapping[str, tuple[Any, ...]] = {
    "device": ("cpu", torch.device("cpu")),
    "layout": (torch.strided,),
    "out": (),
    "pin_memory": (False,),
    "requires_grad": (False,),
}


class _Written:
    """A function that replaces one of PyTorch's, and the arguments that it takes.

    PyTorch's may take others, by further names or as options such as ``out``.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters.values()
        kinds = {parameter.kind for parameter in parameters}
        self.function = function
        self.takes_all = Parameter.VAR_POSITIONAL in kinds and Parameter.VAR_KEYWORD in kinds
        self.places = tuple(
            each.name for each in parameters if each.kind == Parameter.POSITIONAL_OR_KEYWORD
        )
        self.names = tuple(each.name for each in parameters)
        self.needed = tuple(each.name for each in parameters if each.default is Parameter.empty)

    def called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call it; NotImplemented where it does not take these arguments."""
        if self.takes_all:
            return self.function(*args, **kwargs)
        taken = {}
        for name in kwargs:
            if name in self.names or not _is_idle(name, kwargs[name]):
                taken[name] = kwargs[name]
        return self.function(*args, **taken) if self._takes(args, taken) else NotImplemented

    def _takes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        if len(args) > len(self.places):
            return False
        by_place = self.places[: len(args)]
        for name in kwargs:
            if name in by_place or name not in self.names:
                return False
        return all(name in by_place or name in kwargs for name in self.needed)


def _is_idle(name: str, value: Any) -> bool:
    return name in _IDLE and (value is None or value in _IDLE[name])


# Each gives NotImplemented where PyTorch's own is called.
_FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **asking_functions.FUNCTIONS,
    **element_indices.FUNCTIONS,
    **fixing_functions.FUNCTIONS,
    **foreach_functions.FUNCTIONS,
    **margins.FUNCTIONS,
    **observers.FUNCTIONS,
    **parts.FUNCTIONS,
    **pools.FUNCTIONS,
    **randomness.FUNCTIONS,
    **single_values.FUNCTIONS,
    **windows.FUNCTIONS,
}


_WRITTEN = {replaced: _Written(function) for replaced, function in _FUNCTIONS.items()}


class ReplacedFunctions(TorchFunctionMode):
    """Calls the functions above within its block, and those of another table."""

    def __init__(self, others: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        written = {replaced: _Written(function) for replaced, function in others.items()}
        self._written = {**_WRITTEN, **written}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        written = self._written.get(func)
        if written is not None:
            result = written.called(args, kwargs)
            if result is not NotImplemented:
                return result
        return func(*args, **kwargs)
