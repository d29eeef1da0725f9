"""What PyTorch compiles for ``torch.cond`` and its like: nothing where a module runs eagerly."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.eval_frame import cached_backends, remove_from_cache
from torch._higher_order_ops import utils
from torch.utils import _pytree as pytree

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
    """Compiles branches for fixed sizes where these must be; forgets all branches at the end.

    PyTorch has all sizes vary in a branch whose operands have fixed ones, and may find no common
    size of what ``pad(x, (1, 0))[:, :6]`` and ``x`` of six columns give. With fixed ones it does
    not read all code that it reads otherwise, so that these are tried second.

    It would also keep the graphs of each trace, with a class for each of them: after some hundred
    exports half of the time goes into telling all these classes that `nn.Module` has changed, which
    it does in each trace.
    """
    compiled: _Call = utils._hop_compile_and_call
    backends = set(cached_backends)
    wrappers = set()

    def call(function: _Call, *args: Any) -> Any:
        wrappers.add(function.__code__)  # one for all calls of `cond`, another for loops
        try:
            return compiled(function, *args)
        except Exception as error:  # whatever PyTorch or the code of the branch raises
            with torch._dynamo.config.patch(assume_static_by_default=True):
                try:
                    return compiled(function, *args)
                except Exception:
                    raise error from None

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
    call = _BY_NAME.get(function.__name__)
    return function(*args, **(kwargs or {})) if call is None else call(function, *args)


def _chosen(_: _Call, condition: Any, taken: _Call, otherwise: _Call, operands: Any) -> Any:
    return (taken if condition else otherwise)(*operands)


def _looped(loop: _Call, condition: _Call, body: _Call, values: Any, others: Any) -> Any:
    """Run a loop over leaves, and give its values the structure that they had before it."""
    structure = inspect.getclosurevars(body).nonlocals["in_spec"]
    leaves = loop(condition, lambda *given: tuple(pytree.tree_leaves(body(*given))), values, others)
    carried, _ = pytree.tree_unflatten(leaves, structure)
    return carried


def _scanned(scan: _Call, function: _Call, carried: Any, values: Any) -> Any:
    """Scan over leaves, and give what is carried and the results the function's structure."""
    structures = []

    def noting(*given: Any) -> Any:
        result = function(*given)
        structures.append(pytree.tree_structure(result))
        return result

    return pytree.tree_unflatten(scan(noting, carried, values), structures[0])


# How what PyTorch compiles is called, whose operands and results may be nested. Its operators take
# and give leaves; where it compiles a function, it is Dynamo that builds the structures again.
_BY_NAME: Mapping[str, _Call] = {
    "_cond_op_wrapper": _chosen,
    "_while_loop_op_wrapper": _looped,
    "run_flattened_scan": _scanned,
}
