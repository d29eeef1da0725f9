"""What PyTorch compiles for ``torch.cond`` and its like: nothing where a module runs eagerly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch._dynamo.eval_frame import cached_backends, remove_from_cache
from torch._higher_order_ops import utils

_Call = Callable[..., Any]


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Calls branches of ``cond``, bodies of loops and what is mapped as Python has them.

    PyTorch compiles each function that it has not seen there, in a third of a second, and looks
    for what it compiled in each later call. What it refuses then, it refuses in a trace as well.
    """
    with _called_by(_called):
        yield


@contextlib.contextmanager
def compiled_for_a_while() -> Iterator[None]:
    """Forgets at the end what PyTorch compiled of branches and bodies.

    It would keep the graphs of each trace, with a class for each of them: after some hundred
    exports half of the time goes into telling all these classes that `nn.Module` has changed, which
    it does in each trace.
    """
    compiled: _Call = utils._hop_compile_and_call
    backends = set(cached_backends)
    wrappers = set()

    def call(function: _Call, *args: Any) -> Any:
        wrappers.add(function.__code__)  # one for all calls of `cond`, another for loops
        return compiled(function, *args)

    try:
        with _called_by(call):
            yield
    finally:
        for wrapper in wrappers:
            remove_from_cache(wrapper)
        for backend in cached_backends.keys() - backends:
            del cached_backends[backend]


@contextlib.contextmanager
def _called_by(call: _Call) -> Iterator[None]:
    compiled = utils._hop_compile_and_call
    utils._hop_compile_and_call = call
    try:
        yield
    finally:
        utils._hop_compile_and_call = compiled


def _called(function: _Call, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    if function.__name__ == "_cond_op_wrapper":  # whose operands may be nested
        condition, taken, otherwise, operands = args
        return (taken if condition else otherwise)(*operands)
    return function(*args, **(kwargs or {}))
