"""PyTorch's functions over lists of tensors, written as one call for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PREFIX = "_foreach_"

# What PyTorch computes them as: beside tensors these take numbers.
_OTHER_NAMES = {"maximum": "clamp_min", "minimum": "clamp_max"}
_OPTIONS = ("alpha", "dtype", "memory_format", "non_blocking", "value")  # the others are operands


def _each(name: str) -> Callable[..., Any]:
    """The function of lists whose elements are arguments of the method `name` of tensors."""
    plain = name.removesuffix("_")
    method = _OTHER_NAMES.get(plain, plain) + name[len(plain) :]

    def call_each(*args: Any, **kwargs: Any) -> Any:
        operands = [*args, *(each for key, each in kwargs.items() if key not in _OPTIONS)]
        options = {key: each for key, each in kwargs.items() if key in _OPTIONS}
        if plain in ("addcdiv", "addcmul") and len(operands) > 3:
            options["value"] = operands.pop()
        if plain == "norm" and len(operands) > 2:
            options["dtype"] = operands.pop()
        lists = [each for each in operands if isinstance(each, list | tuple)]
        if not lists or not hasattr(Tensor, method) or _is_list(options.get("value")):
            return NotImplemented
        # A number may be the first: the base of powers.
        owner = Tensor if isinstance(operands[0], list | tuple) else torch
        results = [
            getattr(owner, method)(
                *(_at(each, place) for each in operands),
                **{key: _at(each, place) for key, each in options.items()},
            )
            for place in range(len(lists[0]))
        ]
        return None if name.endswith("_") else tuple(results)

    return call_each


def _is_list(value: Any) -> bool:
    """Whether a tensor has a number for each element of a list."""
    return isinstance(value, Tensor) and value.dim() > 0


def _at(argument: Any, place: int) -> Any:
    return argument[place] if isinstance(argument, list | tuple) else argument


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(torch, name): _each(name.removeprefix(_PREFIX))
    for name in dir(torch)
    if name.startswith(_PREFIX)
}
