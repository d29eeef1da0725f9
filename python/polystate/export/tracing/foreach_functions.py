"""PyTorch's functions over lists of tensors, written as one call for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PREFIX = "_foreach_"


def _each(name: str) -> Callable[..., Any]:
    """The function of lists whose elements are arguments of the method `name` of tensors."""

    def call_each(*args: Any, **kwargs: Any) -> Any:
        lists = [each for each in (*args, *kwargs.values()) if isinstance(each, list | tuple)]
        if not lists or not hasattr(Tensor, name):
            return NotImplemented
        results = [
            getattr(Tensor, name)(
                *(_at(each, place) for each in args),
                **{key: _at(each, place) for key, each in kwargs.items()},
            )
            for place in range(len(lists[0]))
        ]
        return None if name.endswith("_") else tuple(results)

    return call_each


def _at(argument: Any, place: int) -> Any:
    return argument[place] if isinstance(argument, list | tuple) else argument


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(torch, name): _each(name.removeprefix(_PREFIX))
    for name in dir(torch)
    if name.startswith(_PREFIX)
}
