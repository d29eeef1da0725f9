"""Tells caches from state among the attributes that the first call of a method sets.

They are caches if no method depends on them: for any values of the state and any arguments, the
module computes the same as with the attributes put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.export.tracing.eager import EagerModule, Entry, Outcome

# Buffers by name, positional and keyword arguments.
_Trial = tuple[dict[str, torch.Tensor], Any, Any]


def effect(eager: EagerModule, filling: Entry, reader: Entry, state: set[str]) -> str | None:
    """How results of `reader` differ after a call of `filling` with its examples; None: nowhere.

    Parameters
    ----------
    state
        The buffers that methods change; each is tried with other values, as the arguments are.
    """
    for trial in _trials(eager, reader, state):
        fresh, kept = _outcome(eager, None, reader, trial), _outcome(eager, filling, reader, trial)
        if fresh is not None and kept is not None:
            difference = kept.difference(fresh)
            if difference is not None:
                return difference
    return None


def _outcome(
    eager: EagerModule, filling: Entry | None, reader: Entry, trial: _Trial
) -> Outcome | None:
    """What `reader` does, after a call of `filling` if there is one; None where it fails."""
    buffers, args, kwargs = trial
    with eager.restored():
        if filling is not None:
            eager.call(filling.function, *filling.points[0])
        eager.set_buffers(buffers)
        try:
            return eager.call(reader.function, args, kwargs)
        except Exception:  # values that the module does not take tell nothing
            return None


def _trials(eager: EagerModule, entry: Entry, state: set[str]) -> Iterator[_Trial]:
    initials = eager.initials()
    for args, kwargs in entry.points:
        yield initials, args, kwargs
        leaves, structure = pytree.tree_flatten((args, kwargs))
        for other in variants(leaves):
            yield initials, *pytree.tree_unflatten(other, structure)
    args, kwargs = entry.points[0]
    names = sorted(state & initials.keys())
    for other in variants([initials[name] for name in names]):
        yield {**initials, **dict(zip(names, other, strict=True))}, args, kwargs


def variants(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """Other values: of all floating-point tensors together, and of each other tensor by itself.

    Numbers may be indices, of which few others are valid.
    """
    inexact = [isinstance(leaf, torch.Tensor) and _is_inexact(leaf) for leaf in leaves]
    if any(inexact):
        pairs = zip(leaves, inexact, strict=True)
        yield [_another(leaf) if is_inexact else leaf for leaf, is_inexact in pairs]
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and not inexact[i]:
            others = [~leaf] if leaf.dtype == torch.bool else [leaf + 1, leaf - 1]
            for other in others:
                yield [*leaves[:i], other, *leaves[i + 1 :]]


def _is_inexact(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _another(tensor: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
    return values.to(tensor.dtype)
