"""Refuses state that is kept outside of the module, by what a repeated call does otherwise.

Buffers, attributes and the random state are put back before each call; what still makes a
difference is elsewhere.
"""

from __future__ import annotations

import contextlib
from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from polystate.errors import ExportError
from polystate.export.tracing.caches import variants
from polystate.export.tracing.eager import EagerModule, Entry, Looked, Outcome


def refuse_second_outcome(
    eager: EagerModule, entry: Entry, first: Outcome, second: Outcome
) -> None:
    """Refuses a method of which a second call with the same examples does something else."""
    difference = second.difference(first)
    if difference is not None:
        raise ExportError(
            f"method '{entry.name}' gives something else when it is called again with the same "
            f"arguments, buffers and attributes ({difference} differs): it keeps state outside of "
            f"{_where(eager)}, or reads a clock or random numbers that are not of PyTorch's "
            f"default generator; make state a buffer, and pass the rest as an input"
        )


def refuse_effects(eager: EagerModule, looked: Looked) -> None:
    """Refuses a method after whose call, or that after the call of, another does something else.

    `looked` is tried with all methods that were looked at before.
    """
    for other in eager.looked:
        for writer, reader in ((looked, other), (other, looked)):
            _call_otherwise(eager, writer.entry)
            outcome = eager.run(reader.entry.function, *reader.entry.points[0])
            difference = outcome.difference(reader.outcome)
            if difference is not None:
                raise ExportError(_shared(eager, writer.entry, reader.entry, difference))


def call_on(eager: EagerModule, entry: Entry, args: Any, kwargs: Any) -> Outcome:
    """Calls a method, from the initial state of the module.

    Refuses it where it meets tensors that the trace of another one left.
    """
    outcome = _called_on(eager, entry, args, kwargs)
    if outcome is not None:
        return outcome
    if not eager.looked:  # no trace has left anything: the error is the method's own
        eager.reset()
        return eager.call_on(entry.function, args, kwargs)
    names = " or ".join(f"'{looked.entry.name}'" for looked in eager.looked)
    raise ExportError(
        f"method '{entry.name}' reads what method {names} keeps: they keep state outside of "
        f"{_where(eager)}; make it a buffer"
    )


def _called_on(eager: EagerModule, entry: Entry, args: Any, kwargs: Any) -> Outcome | None:
    """Calls a method; None where it meets tensors that a trace left."""
    try:
        outcome = eager.call_on(entry.function, args, kwargs)
    except Exception as error:
        if "FakeTensor" not in str(error):
            raise
        return None
    is_left = any(isinstance(leaf, FakeTensor) for leaf in outcome.outputs)
    return None if is_left else outcome


def _call_otherwise(eager: EagerModule, entry: Entry) -> None:
    """Calls a method with other values than its examples', where it takes them."""
    leaves, structure = pytree.tree_flatten(entry.points[0])
    for other in variants(leaves):
        with contextlib.suppress(Exception):
            eager.run(entry.function, *pytree.tree_unflatten(other, structure))
            return


def _shared(eager: EagerModule, writer: Entry, reader: Entry, difference: str) -> str:
    return (
        f"method '{reader.name}' gives something else after a call of method '{writer.name}' with "
        f"the same arguments, buffers and attributes ({difference} differs): they keep state "
        f"outside of {_where(eager)}; make it a buffer"
    )


def _where(eager: EagerModule) -> str:
    return (
        f"{type(eager.model).__name__} (a global, a variable of a closure, a default argument, an "
        f"attribute of a class)"
    )
