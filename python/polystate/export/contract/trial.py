"""Tries a method where its trace assumed that it is not called."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from polystate.artifact.expressions import Expression
from polystate.export.graph.expressions import constants_of, evaluate, holds, symbols_of
from polystate.export.graph.signature import tensor_arguments
from polystate.export.graph.sizes import Sizes
from polystate.export.tracing.dimensions import resized_leaf

# How many combinations of sizes are searched for those that break a condition.
_SEARCHED = 4096


@dataclass(frozen=True)
class Trial:
    """A method to be tried at other sizes than those of its examples.

    Attributes
    ----------
    exported
        As torch.export gave it.
    args, kwargs
        Its examples.
    is_right
        Runs the module and the decomposed program on examples. True where they agree, False where
        they differ; None where the module does not take the examples.
    """

    exported: ExportedProgram
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    is_right: Callable[[tuple[Any, ...], dict[str, Any]], bool | None]

    @property
    def guards_of_export(self) -> int:
        """How many assumptions torch.export made; decompositions made those that follow."""
        return len(self.exported._guards_code)

    def holds_without(
        self, condition: Expression, given: Sequence[Expression], sizes: Sizes
    ) -> bool:
        """Tell whether the program is right at sizes that break a condition but none of `given`.

        A few such sizes are tried. Where none are found, nothing is known: False.
        """
        broken = list(itertools.islice(_breaking(condition, given, sizes), _SEARCHED))
        if not broken:
            return False
        chosen = {0, len(broken) // 2, len(broken) - 1}
        return all(self._is_right_at(broken[i], sizes) for i in sorted(chosen))

    def is_refused_at(self, values: Mapping[str, int], sizes: Sizes) -> bool:
        """Tell whether the module itself refuses some sizes, whatever the others are."""
        return all(each is None for each in self._found_at(values, sizes))

    def _is_right_at(self, values: Mapping[str, int], sizes: Sizes) -> bool:
        """Tell whether the program is right at some sizes, with others that the module accepts.

        A module may refuse a combination of sizes that are within their ranges, such as more tokens
        than the pages hold. The others are the largest that it accepts; if it accepts none, nothing
        is known: False. Integers of the examples may be indices that are out of range at these
        sizes; then zeros are tried in their place.
        """
        return next((each for each in self._found_at(values, sizes) if each is not None), False)

    def _found_at(self, values: Mapping[str, int], sizes: Sizes) -> Iterator[bool | None]:
        for others in _shrinking(sizes, values.keys()):
            examples = self._examples({**others, **values}, sizes)
            yield self.is_right(*examples)
            if any(map(_is_of_integers, pytree.tree_leaves(examples))):
                yield self.is_right(*pytree.tree_map(_without_integers, examples))

    def _examples(
        self, values: Mapping[str, int], sizes: Sizes
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bring the examples to sizes: their own elements repeated, or zeros if they are empty."""
        leaves, structure = pytree.tree_flatten((self.args, dict(self.kwargs)))
        for argument in tensor_arguments(self.exported):
            for dimension, size in enumerate(argument.tensor.shape):
                leaf, wanted = leaves[argument.position], evaluate(sizes.expression(size), values)
                if leaf.shape[dimension] != wanted:
                    leaves[argument.position] = resized_leaf(leaf, dimension, wanted)
        examples: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_unflatten(leaves, structure)
        return examples


def _without_integers(leaf: Any) -> Any:
    return torch.zeros_like(leaf) if _is_of_integers(leaf) else leaf


def _is_of_integers(leaf: Any) -> bool:
    is_tensor = isinstance(leaf, torch.Tensor) and leaf.dtype != torch.bool
    return is_tensor and not (leaf.is_floating_point() or leaf.is_complex())


def _breaking(
    condition: Expression, given: Sequence[Expression], sizes: Sizes
) -> Iterator[dict[str, int]]:
    """Give sizes that break a condition, near its constants and the ends of the ranges.

    They are the sizes that the condition, or one of `given`, mentions.
    """
    ends = {s.name: (s.min, s.max) for s in sizes.symbols}
    used = symbols_of(["and", condition, *given])
    spans = [_values(*ends[name], constants_of(condition)) for name in sorted(used)]
    for combination in itertools.islice(itertools.product(*spans), _SEARCHED):
        values = dict(zip(sorted(used), combination, strict=True))
        if not holds(condition, values) and all(holds(other, values) for other in given):
            yield values


def _shrinking(sizes: Sizes, known: Collection[str]) -> Iterator[dict[str, int]]:
    """Give the other sizes at their maxima, then half-way from there to their minima, and so on."""
    others = [symbol for symbol in sizes.symbols if symbol.name not in known]
    widest = max((symbol.max - symbol.min for symbol in others), default=0)
    for halvings in range(widest.bit_length() + 1):
        yield {s.name: s.min + ((s.max - s.min) >> halvings) for s in others}


def _values(low: int, high: int, near: set[int]) -> list[int]:
    if high - low < math.isqrt(_SEARCHED):
        return list(range(low, high + 1))
    chosen = {low, low + 1, (low + high) // 2, high - 1, high}
    chosen |= {constant + step for constant in near for step in (-1, 0, 1)}
    return sorted(value for value in chosen if low <= value <= high)
