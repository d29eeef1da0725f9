"""Compares what the module and a program did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.export.tracing.eager import Outcome
from polystate.export.verification.tolerances import (
    LEAST,
    Tolerance,
    ToleranceByType,
    first_deviation,
)


def pairs(found: Outcome, expected: Outcome) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """What belongs together in two outcomes of one call: what it is, and both values."""
    for kind, mine, theirs in (
        ("output", found.outputs, expected.outputs),
        ("input", found.inputs, expected.inputs),
    ):
        both = zip(tensors(mine), tensors(theirs), strict=True)
        yield from ((f"{kind} {i}", a, b) for i, (a, b) in enumerate(both))
    for name, value in found.buffers.items():
        yield f"state '{name}'", value, expected.buffers[name]


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors in arguments or results."""
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def has_nan(outcome: Outcome) -> bool:
    """Whether a result or the state holds a NaN."""
    found = [*tensors(outcome.outputs), *tensors(outcome.inputs), *outcome.buffers.values()]
    return any(tensor.is_floating_point() and bool(tensor.isnan().any()) for tensor in found)


def differs_in_numbers(
    found: Outcome, expected: Outcome, tolerance: Tolerance | ToleranceByType
) -> bool:
    """Whether an element that is to be no NaN differs."""
    return any(
        first_deviation(value, wanted, tolerance, nan_counts=False) is not None
        for _, value, wanted in pairs(found, expected)
    )


def difference(
    found: Outcome,
    expected: Outcome,
    tolerance: Tolerance | ToleranceByType,
    *,
    least: float = LEAST,
) -> str | None:
    """The first result of a program that differs from the module's, in words."""
    for label, value, wanted in pairs(found, expected):
        deviation = first_deviation(value, wanted, tolerance, least=least)
        if deviation is not None:
            return f"{label} of the lowered program differs from the module's: {deviation}"
    return None
