"""Functions that the user marks with ``torch.compiler.assume_constant_result``.

What such a function returns at a method's examples is a constant of the method. PyTorch leaves out
whether that is right for other arguments; here the method refuses them, as module and as program.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from polystate.export.tracing.eager import EagerModule

_MARK = "_dynamo_marked_constant"


@dataclass(frozen=True)
class _Call:
    """A call of a marked function at the examples: its tensors, and what it returned."""

    tensors: list[torch.Tensor]
    result: Any


def with_assumed_constants(
    eager: EagerModule, function: Callable[..., Any], args: Any, kwargs: Any
) -> Callable[..., Any]:
    """A method whose marked functions return what they do at the examples, or refuse.

    The method itself where nothing is marked.
    """
    marked = list(_marked(eager.model, function))
    if not marked:
        return function
    calls: list[_Call] = []
    with _replaced(marked, functools.partial(_record, calls)):
        eager.run(function, args, kwargs)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        following = iter(calls)

        def repeat(made: Callable[..., Any], *given: Any) -> Any:
            known = next(following, None)
            if known is None:
                raise RuntimeError(f"{made.__name__} is called more often than at the examples")
            return _repeated(made, known, *given)

        with _replaced(marked, repeat):
            return function(*args, **kwargs)

    return call


# A namespace, and the name in it of a function that is marked.
_Marked = tuple[Any, str]


def _marked(model: torch.nn.Module, function: Callable[..., Any]) -> Iterator[_Marked]:
    """The marked functions of a module's classes, and beside the method that is called."""
    classes = {owner: None for module in model.modules() for owner in type(module).__mro__}
    for owner in classes:
        for name, value in list(vars(owner).items()):
            if inspect.isfunction(value) and hasattr(value, _MARK):
                yield owner, name
    known = getattr(inspect.unwrap(function), "__globals__", {})
    for name, value in list(known.items()):
        if inspect.isfunction(value) and hasattr(value, _MARK):
            yield known, name


@contextlib.contextmanager
def _replaced(marked: list[_Marked], by: Callable[..., Any]) -> Iterator[None]:
    """Calls `by` with the function and its arguments, in the place of each marked one."""
    with contextlib.ExitStack() as stack:
        for owner, name in marked:
            if isinstance(owner, dict):  # of globals, others of which the method may change
                made = owner[name]
                owner[name] = _instead_of(made, by)
                stack.callback(owner.__setitem__, name, made)
            else:
                made = vars(owner)[name]
                stack.enter_context(mock.patch.object(owner, name, _instead_of(made, by)))
        yield


def _instead_of(made: Callable[..., Any], by: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(made)
    def call(*args: Any, **kwargs: Any) -> Any:
        return by(made, args, kwargs)

    return call


def _record(calls: list[_Call], made: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    tensors = [tensor.detach().clone() for tensor in _tensors(args, kwargs)]
    result = made(*args, **kwargs)
    calls.append(_Call(tensors, copy.deepcopy(result)))
    return result


def _repeated(made: Callable[..., Any], call: _Call, args: Any, kwargs: Any) -> Any:
    for tensor, known in zip(_tensors(args, kwargs), call.tensors, strict=True):
        torch._assert_async(
            (tensor == known).all(),
            f"{made.__name__} is called with other values than the example's, at which what it "
            f"returns is a constant",
        )
    return copy.deepcopy(call.result)


def _tensors(args: Any, kwargs: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves((args, kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
