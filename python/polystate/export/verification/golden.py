"""Records what the module does, for `polystate doctor` to replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from polystate.artifact import GoldenCall, manifest
from polystate.export.tracing.eager import Outcome
from polystate.export.verification.arrays import Array, as_bits
from polystate.export.verification.outcomes import tensors
from polystate.export.verification.twins import Agreed, Call, Twins, as_described

# Recorded arrays above this many bytes: the methods are called once instead of twice.
_LARGE = 8 * 1024 * 1024

# How many drawn calls of a method are tried, to find one that is alike on every machine.
_TRIED = 8


def record(
    twins: Twins, examples: Sequence[Call], drawn: Callable[[str, int], Call] | None
) -> list[tuple[str, GoldenCall]]:
    """Calls every method on its example, then on drawn values, over one state.

    The state starts at its initial values. A call that the module refuses, in the state that it is
    in then, is left out; so is the second round where the first one is large. What is drawn gives
    the same however operators round; where nothing such is found, the example is called again.

    Parameters
    ----------
    drawn
        Gives a call of a method by its name and a number; None: the examples alone are called,
        once.

    Returns
    -------
    list
        Method names with their calls, in the order in which they ran.
    """
    calls: list[tuple[str, GoldenCall]] = []
    for call in examples:
        _add_example(calls, twins, call, is_given=drawn is None)
    if drawn is None:
        return calls
    for call in examples:
        if _bytes(calls) >= _LARGE:
            break
        name = call.method.name
        if not any(_has_added(calls, twins, drawn(name, number)) for number in range(_TRIED)):
            _add_example(calls, twins, call, is_given=False)
    return calls


def _add_example(
    calls: list[tuple[str, GoldenCall]], twins: Twins, call: Call, *, is_given: bool
) -> None:
    """Adds an example's call, unless it is left out; then the state is as before."""
    before = twins.eager.buffers()
    result = twins.call_example(call, is_given=is_given)
    if isinstance(result, Agreed):
        _add(calls, twins, call, result.outcome)
    else:
        _put_back(twins, before)


def _has_added(calls: list[tuple[str, GoldenCall]], twins: Twins, call: Call) -> bool:
    """Adds a drawn call, unless it is left out or unsteady; then the state is as before."""
    before = twins.eager.buffers()
    result = twins.call_drawn(call, is_reached=True)
    if isinstance(result, Agreed) and twins.is_steady(call, before, result.outcome):
        _add(calls, twins, call, result.outcome)
        return True
    _put_back(twins, before)
    return False


def _put_back(twins: Twins, state: Mapping[str, torch.Tensor]) -> None:
    """Gives both a state again: what is not recorded is not replayed either."""
    twins.eager.set_buffers(state)
    twins.copy_state()


def _add(calls: list[tuple[str, GoldenCall]], twins: Twins, call: Call, outcome: Outcome) -> None:
    method = twins.method(call.method.name)
    calls.append((method.name, _golden(method, call, outcome)))


def _golden(method: manifest.Method, call: Call, outcome: Outcome) -> GoldenCall:
    after = _arrays(method.inputs, outcome.inputs)
    written = (i for i, tensor in enumerate(method.inputs) if tensor.written_from is not None)
    return GoldenCall(
        _arrays(method.inputs, (call.args, call.kwargs)),
        _arrays(method.outputs, outcome.outputs),
        {i: after[i] for i in written},
    )


def _bytes(calls: Sequence[tuple[str, GoldenCall]]) -> int:
    return sum(array.nbytes for _, call in calls for _, array in call.arrays())


def _arrays(described: Sequence[manifest.Input | manifest.Output], tree: Any) -> list[Array]:
    both = zip(described, tensors(tree), strict=True)
    return [as_bits(as_described(spec, tensor)) for spec, tensor in both]
