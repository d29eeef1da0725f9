"""Draws arguments and states that a method could meet, from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.artifact import manifest
from polystate.errors import ContractError
from polystate.export.graph.expressions import evaluate
from polystate.export.method import Draw


@dataclass(frozen=True)
class Draws:
    """How many calls with drawn values show that a program is right.

    Parameters
    ----------
    seed
        What they are drawn from.
    count
        How many calls; None: as many as fit into two seconds or a tenth of the export, whichever is
        longer, at least one for each method at each corner of its ranges. An export reports how
        many it made; the same seed and count make the same calls again. 0: the module is called at
        the examples' sizes alone, for one that differs in its weights alone from another that was
        exported with drawn calls.
    """

    seed: int = 0
    count: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("seed", self.seed), ("count", self.count)):
            if value is None and name == "count":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
                raise ContractError(
                    f"the {name} of Draws is {value!r}; it must be a whole number from 0 on"
                )

    @property
    def at_corners(self) -> bool:
        """Whether the corners of ranges are tried."""
        return self.count != 0


Shape = Sequence[int]

# How the elements of a float tensor are drawn, before they are scaled. Later ones are for modules
# that give no number for earlier ones: logarithms, then inverse sines.
_ELEMENTS: tuple[Callable[[Shape, torch.Generator], torch.Tensor], ...] = (
    lambda shape, generator: torch.randn(shape, generator=generator),
    lambda shape, generator: torch.randn(shape, generator=generator).abs(),
    lambda shape, generator: torch.rand(shape, generator=generator),
)
MANNERS = len(_ELEMENTS)


# A range of integers that no method can mean as a whole, and what is near to a number.
_WIDE = 2**20
_NEAR = 2


class Source:
    """Draws tensors, one after another, from a seed and a number.

    Parameters
    ----------
    manner
        From 0 to `MANNERS`; above 0 floats are positive, and in the last one below 1.
    plain
        Whether all floats have a scale of 1, not one from 1e-3 to 1e3 for each tensor.
    near
        Whether integers are near the example's, if the method has no limits.
    """

    def __init__(
        self, seed: int, number: int, manner: int = 0, *, plain: bool = False, near: bool = False
    ) -> None:
        self.generator = torch.Generator().manual_seed((seed * 1_000_003 + number) % 2**63)
        self._manner = manner
        self._plain = plain or manner == MANNERS - 1
        self._at_ends = self.chance(0.25)  # of their ranges, all integers of a call
        self._near = near

    def chance(self, probability: float) -> bool:
        """Whether something of a probability happens."""
        return float(torch.rand((), generator=self.generator)) < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(self._between(low, high, 1))

    def floats(self, shape: Shape, dtype: torch.dtype) -> torch.Tensor:
        """A tensor of random numbers and one scale."""
        exponent = 0.0 if self._plain else 6 * float(torch.rand((), generator=self.generator)) - 3
        values = _ELEMENTS[self._manner](shape, self.generator).to(torch.float64) * 10**exponent
        return values.to(dtype)

    def bools(self, shape: Shape) -> torch.Tensor:
        """A tensor of both values, now and then in order, as a mask of padding is, or of one."""
        values = torch.rand(shape, generator=self.generator) < 0.5
        kind = self.whole(0, 3)
        if kind == 0 and values.dim():
            return values.sort(-1).values
        return torch.full(shape, self.chance(0.5)) if kind == 1 else values

    def integers(
        self, shape: Shape, dtype: torch.dtype, low: int | None, high: int | None, like: range
    ) -> torch.Tensor:
        """A tensor of whole numbers.

        Parameters
        ----------
        low, high
            The method's limits, both included; None where it has none.
        like
            What the examples have. Without limits most of what is drawn is near these, since most
            of an integer's range is of no use as an index or a length.
        """
        limits = torch.iinfo(dtype)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else max(low, min(high, limits.max))
        if high - low > _WIDE and (self._near or (not self._at_ends and self.chance(0.75))):
            low, high = _clipped((like.start - _NEAR, like.stop + _NEAR), low, high)
        count = math.prod(shape)
        if self._at_ends:
            ends = torch.tensor(sorted({low, high, *_clipped((-1, 1), low, high)}))
            chosen = ends[self._between(0, len(ends) - 1, count)]
        else:
            if count <= high - low <= _WIDE and self.chance(0.5):  # each number at most once
                chosen = low + torch.randperm(high - low + 1, generator=self.generator)[:count]
            else:
                chosen = self._between(low, high, count)
        return chosen.reshape(tuple(shape)).to(dtype)

    def _between(self, low: int, high: int, count: int) -> torch.Tensor:
        if high < 2**63 - 1:
            return torch.randint(low, high + 1, (count,), generator=self.generator)
        if low > -(2**63):  # the end, which is not included, has to be an int64
            return torch.randint(low - 1, high, (count,), generator=self.generator) + 1
        return torch.randint(low, high, (count,), generator=self.generator)  # all but the largest


def _clipped(values: Sequence[int], low: int, high: int) -> list[int]:
    return [min(max(value, low), high) for value in values]


def drawn_arguments(
    source: Source, described: manifest.Method, args: Any, kwargs: Any, own: Draw | None
) -> tuple[Any, Any]:
    """Arguments within a method's contract, in the place of others of the same sizes.

    Parameters
    ----------
    own
        The user's own function, which makes valid arguments of drawn ones.

    Raises
    ------
    ContractError
        When that gives others than those that it was given, in structure, sizes or types.
    """
    leaves, structure = pytree.tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[place] for place in places]
    sizes = _sizes(described, tensors)
    for place, given, tensor in zip(places, described.inputs, tensors, strict=True):
        leaves[place] = _drawn(source, given, tensor, sizes)
    drawn: tuple[Any, Any] = pytree.tree_unflatten(leaves, structure)
    return drawn if own is None else _made_valid(described.name, own, source.generator, *drawn)


def _sizes(described: manifest.Method, tensors: Sequence[torch.Tensor]) -> dict[str, int]:
    return {
        symbol.name: (tensors[symbol.input].shape[symbol.dimension] - symbol.offset) // symbol.scale
        for symbol in described.symbols
    }


def _drawn(
    source: Source, given: manifest.Input, tensor: torch.Tensor, sizes: Mapping[str, int]
) -> torch.Tensor:
    if tensor.dtype.is_floating_point:
        return source.floats(tensor.shape, tensor.dtype)
    if tensor.dtype == torch.bool:
        return source.bools(tensor.shape)
    lows = [evaluate(limits.min, sizes) for limits in given.values if limits.min is not None]
    highs = [evaluate(limits.max, sizes) for limits in given.values if limits.max is not None]
    like = range(int(tensor.min()), int(tensor.max())) if tensor.numel() else range(1)
    return source.integers(
        tensor.shape, tensor.dtype, max(lows, default=None), min(highs, default=None), like
    )


def _made_valid(
    name: str, own: Draw, generator: torch.Generator, args: Any, kwargs: Any
) -> tuple[Any, Any]:
    wanted = _forms((args, kwargs))
    made = own(generator, args, kwargs)
    if not isinstance(made, tuple) or len(made) != 2 or _forms(made) != wanted:
        raise ContractError(
            f"method '{name}': its draw(generator, args, kwargs) must return (args, kwargs) of the "
            f"structure, sizes and types that it is given"
        )
    return made


def _forms(arguments: tuple[Any, Any]) -> Any:
    """The structure of arguments, with the sizes and types of tensors."""
    leaves, structure = pytree.tree_flatten((tuple(arguments[0]), dict(arguments[1])))
    forms = [
        (leaf.shape, leaf.dtype) if isinstance(leaf, torch.Tensor) else type(leaf)
        for leaf in leaves
    ]
    return structure, forms
