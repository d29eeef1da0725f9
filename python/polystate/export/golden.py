"""Records what the module does on its examples, for `polystate doctor` to replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from polystate.artifact import GoldenCall
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.trace import Traced

# Recorded arrays above this many bytes: the methods are called once instead of twice.
_LARGE = 8 * 1024 * 1024


def record(
    eager: EagerModule, methods: Sequence[Traced], written: Sequence[Sequence[int]]
) -> list[tuple[str, GoldenCall]]:
    """Calls every method on its examples, in order, twice, over one state.

    The state starts at its initial values. A call that the module refuses, in the state that it is
    in then, is left out; so is the second round where the first one is large.

    Parameters
    ----------
    written
        For each method, the indices of the inputs that it mutates.

    Returns
    -------
    list
        Method names with their calls, in the order in which they ran.
    """
    calls: list[tuple[str, GoldenCall]] = []
    pairs = list(zip(methods, written, strict=True))
    with eager.restored():
        for method, inputs in [*pairs, *pairs]:
            if len(calls) >= len(pairs) and _bytes(calls) >= _LARGE:
                break
            before = eager.buffers()
            try:
                calls.append((method.name, _call(eager, method, inputs)))
            except Exception:  # the module may raise anything
                eager.set_buffers(before)
    return calls


def _bytes(calls: Sequence[tuple[str, GoldenCall]]) -> int:
    return sum(array.nbytes for _, call in calls for _, array in call.arrays())


def _call(eager: EagerModule, method: Traced, written: Sequence[int]) -> GoldenCall:
    outcome = eager.call(method.function, method.args, method.kwargs)
    after = _arrays(outcome.inputs)
    return GoldenCall(
        _arrays((method.args, method.kwargs)),
        _arrays(outcome.outputs),
        {i: after[i] for i in written},
    )


def _arrays(tree: Any) -> list[np.ndarray[Any, np.dtype[Any]]]:
    return [as_array(leaf) for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def as_array(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[Any]]:
    """A copy as a NumPy array; bfloat16 as its bits in uint16."""
    tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    array: np.ndarray[Any, np.dtype[Any]] = tensor.numpy()
    return array
