"""Calls the module and the program with drawn values, in random sequences of methods."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from polystate.export.tracing.traced import Traced
from polystate.export.verification.branches import Branches
from polystate.export.verification.draws import MANNERS, Draws, Source, drawn_arguments
from polystate.export.verification.twins import Agreed, Call, LeftOut, Twins, works_by_value

# How many calls follow one another over one state. Where the state has integers, one sequence is
# longer, so that a ring buffer wraps: the fifth, or the next fourth one where that is cut off.
_SEQUENCE = 6
_LONG_SEQUENCE = 40
_FIRST_LONG, _NEXT_LONG = 5, 4

# No more calls of a method, however fast they are, but for those of the long sequence.
_MOST = 32


@dataclass
class Tally:
    """What came of the drawn calls of a method.

    Attributes
    ----------
    drawn
        How many there were.
    agreed
        In how many the program did what the module did.
    left_out
        The others, by why they show nothing.
    untaken
        Branches of ``cond`` that none of them took, in words.
    """

    drawn: int = 0
    agreed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    untaken: list[str] = field(default_factory=list)

    def add(self, result: Agreed | LeftOut) -> None:
        """Count a call."""
        self.drawn += 1
        if isinstance(result, Agreed):
            self.agreed += 1
        else:
            self.left_out[result.because] += 1


class DrawnCalls:
    """Makes calls of a program's methods from a seed; the same seed makes the same calls.

    They follow one another in sequences of random methods, of which every other one begins with
    drawn state. The first call of each method at each corner of its ranges has the scale 1.
    """

    def __init__(self, twins: Twins, methods: Sequence[Traced], draws: Draws) -> None:
        self._twins = twins
        self._methods = {method.name: method for method in methods}
        self._seed = draws.seed
        self._wanted = draws.count
        self._corners = [(method, sizes) for method in methods for sizes in _corners(method)]
        if not draws.at_corners:
            self._corners = []
        self._shown: set[int] = set()  # the corners at which a drawn call agreed
        self._tallies = {name: Tally() for name in self._methods}
        self._branches = {name: Branches(method) for name, method in self._methods.items()}
        self._by_value = {method.name for method in methods if works_by_value(method)}
        self._calls = 0
        self._sequences = 0
        has_integers = any("int" in each.dtype for each in twins.described.state)
        self._long = _LONG_SEQUENCE if has_integers else 0
        self._has_run_long = False

    def golden(self, name: str, number: int) -> Call:
        """A call of a method at its example's sizes, of the scale 1."""
        is_near = name in self._by_value
        source = Source(self._seed, -1 - number, number % MANNERS, plain=True, near=is_near)
        where = f"with drawn values to record (number {number} of seed {self._seed})"
        return self._call(source, self._methods[name], None, where)

    def run(self, seconds: float) -> tuple[Draws, Mapping[str, Tally]]:
        """Call until the time is over or the wanted number is made.

        Where no drawn call shows anything at a corner of a method's ranges, its example is called
        there, with repeated elements.

        Returns
        -------
        The draws with the number that was made, and what came of them, by method.

        Raises
        ------
        ExportError
            For the first call that the program does otherwise than the module.
        """
        deadline = time.monotonic() + seconds
        while not self._is_enough(deadline):
            with self._twins.from_initial_state():
                self._run_sequence(deadline)
        for number, (method, sizes) in enumerate(self._corners):
            if number not in self._shown and sizes is not None:
                args, kwargs = method.dimensions.resized(method.args, method.kwargs, sizes)
                with self._twins.from_initial_state():
                    call = Call(method, f"at {_text(sizes)}", args, kwargs)
                    self._twins.call_example(call, is_given=False)
        for name, tally in self._tallies.items():
            tally.untaken = self._branches[name].untaken()
        return Draws(self._seed, self._calls), self._tallies

    def _is_enough(self, deadline: float) -> bool:
        if self._wanted is not None:
            return self._calls >= self._wanted
        if self._calls < len(self._corners):
            return False
        most = _MOST * len(self._methods) + self._long
        return self._calls >= most or time.monotonic() >= deadline

    def _run_sequence(self, deadline: float) -> None:
        is_reached = not self._has_drawn_state()
        since_first = self._sequences - _FIRST_LONG
        is_long = since_first >= 0 and since_first % _NEXT_LONG == 0 and not self._has_run_long
        for _ in range(max(_SEQUENCE, self._long if is_long else 0)):
            if self._is_enough(deadline):
                return
            result = self._call_next(is_reached=is_reached)
            if isinstance(result, LeftOut) and result.has_run:
                return  # what the state holds now is undefined, or decided by rounding
        self._has_run_long |= is_long

    def _has_drawn_state(self) -> bool:
        """Draw the floats of the state for every other sequence, if there are any."""
        self._sequences += 1
        if self._sequences % 2:
            return False
        source = Source(self._seed, 2 * self._calls)
        is_positive = source.chance(0.5)
        drawn = {
            name: source.floats(value.shape, value.dtype)
            for name, value in self._twins.state().items()
            if value.dtype.is_floating_point
        }
        if not drawn:
            return False
        self._twins.set_state(
            {name: value.abs() if is_positive else value for name, value in drawn.items()}
        )
        return True

    def _call_next(self, *, is_reached: bool) -> Agreed | LeftOut:
        corner, call = self._next()
        tally, branches = self._tallies[call.method.name], self._branches[call.method.name]
        before = self._twins.eager.buffers()
        result = self._twins.call_drawn(call, is_reached=is_reached)
        self._calls += 1
        tally.add(result)
        if isinstance(result, Agreed):
            self._shown |= {corner} if corner is not None else set()
            if branches.untaken():
                self._twins.eager.set_buffers(before)
                branches.see(self._twins.eager, call.args, call.kwargs)
                self._twins.eager.set_buffers(result.outcome.buffers)
        return result

    def _next(self) -> tuple[int | None, Call]:
        """The next call, with the number of its corner; None where it is somewhere between."""
        round_, place = divmod(self._calls, len(self._corners))
        shuffled = torch.randperm(
            len(self._corners), generator=Source(self._seed, -1000 - round_).generator
        )
        corner = int(shuffled[place])
        method, sizes = self._corners[corner]
        number: int | None = corner
        tally = self._tallies[method.name]
        manner = (tally.drawn - tally.agreed) % MANNERS
        is_plain, is_near = round_ == 0, method.name in self._by_value
        source = Source(self._seed, 2 * self._calls + 1, manner, plain=is_plain, near=is_near)
        if round_ and sizes is not None and source.chance(0.5):
            ranges = method.dimensions.ranges().items()
            number, sizes = None, {key: source.whole(low, high) for key, (low, high) in ranges}
        where = "" if sizes is None else f"{_text(sizes)}, "
        where = f"at {where}drawn values (call {self._calls} of seed {self._seed})"
        return number, self._call(source, method, sizes, where)

    def _call(
        self, source: Source, method: Traced, sizes: Mapping[str, int] | None, where: str
    ) -> Call:
        args, kwargs = method.args, method.kwargs
        if sizes is not None:
            args, kwargs = method.dimensions.resized(args, kwargs, sizes)
        described = self._twins.method(method.name)
        drawn = drawn_arguments(source, described, args, kwargs, method.draw)
        return Call(method, where, *drawn)


def _corners(method: Traced) -> list[Mapping[str, int] | None]:
    return list(method.dimensions.corners()) or [None]


def _text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())
