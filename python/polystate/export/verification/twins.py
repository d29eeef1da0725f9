"""The module and the finished program, called side by side."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from polystate.artifact import manifest
from polystate.errors import ContractError, EngineError, ExportError
from polystate.export.graph.scalars import ITEMS
from polystate.export.tracing.eager import EagerModule, Outcome
from polystate.export.tracing.pairs import as_pairs, of_pairs
from polystate.export.tracing.traced import Traced
from polystate.export.verification.dispatch import Operators, under
from polystate.export.verification.live_graph import LiveGraph
from polystate.export.verification.outcomes import (
    difference,
    differs_in_numbers,
    has_nan,
    tensors,
)
from polystate.export.verification.program_process import ProgramEndedError, ProgramProcess
from polystate.export.verification.rounding import Rounding, is_explained
from polystate.export.verification.stable_order import StableOrder
from polystate.export.verification.tolerances import ToleranceByType, first_deviation
from polystate.export.verification.undefined import Undefined

_BY_VALUE = {torch.ops.higher_order.while_loop, *ITEMS}

# How often a module runs with other roundings, to find what depends on them: whether anything
# does, and whether all that differs does, for which no more are taken than are needed. Rounding to
# 8 bits moves results by leaps, which a few may miss.
_ROUNDINGS = 6
_MOST_ROUNDINGS = 32


class WrongProgramError(ExportError):
    """A program gives, takes or keeps something else than its module."""


class EndedProgramError(ExportError):
    """A program ends its process, or does not end in time."""


@dataclass(frozen=True)
class Call:
    """A method with arguments; `where` says in words which."""

    method: Traced
    where: str
    args: Any
    kwargs: Any


@dataclass(frozen=True)
class Agreed:
    """What a call did, in the module and in the program alike."""

    outcome: Outcome


@dataclass(frozen=True)
class LeftOut:
    """A call that shows nothing of the program's results.

    Attributes
    ----------
    because
        The kind of reason, in words.
    has_run
        Whether it changed the state: not where the module or the contract refused it.
    """

    because: str
    has_run: bool = False


@dataclass(frozen=True)
class Twins:
    """The module and the program, in the same state.

    Every call leaves both in one state; ExportError says how they differ. Complex tensors are
    compared as pairs of their parts [..., 2].
    """

    eager: EagerModule
    program: ProgramProcess
    described: manifest.Manifest
    tolerance: ToleranceByType

    def method(self, name: str) -> manifest.Method:
        """What the program says of a method."""
        return next(method for method in self.described.methods if method.name == name)

    def state(self) -> dict[str, torch.Tensor]:
        """The module's values of the states."""
        buffers = self.eager.buffers()
        return {state.name: buffers[state.name] for state in self.described.state}

    @contextlib.contextmanager
    def from_initial_state(self) -> Iterator[None]:
        """Put both into the initial state, for the calls of the block; the module is then itself.

        Attributes of the module, which calls may fill, are as they were as well.
        """
        self.program.reset()
        with self.eager.restored():
            yield

    def set_state(self, values: Mapping[str, torch.Tensor]) -> None:
        """Give both some states, by name."""
        self.eager.set_buffers(values)
        self.copy_state()

    def copy_state(self) -> None:
        """Give the program the module's state."""
        state = self.state()
        self.program.set_state(
            {each.name: as_described(each, state[each.name]) for each in self.described.state}
        )

    def call_example(self, call: Call, *, is_given: bool) -> Agreed | LeftOut:
        """Call both with an example's values; a call that only one of them takes runs on neither.

        The contract may exclude sizes and values, as the report says, but not the user's example.

        Parameters
        ----------
        is_given
            Whether it is the user's example, in the initial state.
        """
        before = self.eager.buffers()
        begin = time.monotonic()
        try:
            expected = self.eager.call(call.method.function, call.args, call.kwargs)
        except Exception:  # the module itself refuses these sizes or this state
            self.eager.set_buffers(before)
            return LeftOut("the module refused them")
        seconds = time.monotonic() - begin
        try:
            found = self._run(call, seconds)
        except ContractError as error:
            if is_given:
                raise ExportError(
                    f"method '{call.method.name}': its contract refuses its own example: {error}"
                ) from error
            self.eager.set_buffers(before)
            return LeftOut("the contract refused them")
        agreement = self._agreement(call, before, found, expected)
        if isinstance(agreement, Agreed):
            return agreement
        reason = self._reason(call, before, found, expected, seconds)
        if reason is None:
            raise _fault(call, f"{agreement}; the module itself runs there", WrongProgramError)
        self.copy_state()
        return LeftOut(reason, has_run=True)

    def call_drawn(self, call: Call, *, is_reached: bool) -> Agreed | LeftOut:
        """Call both with drawn values.

        Parameters
        ----------
        is_reached
            Whether calls reach the state; then the program must refuse what the module refuses.
        """
        before = self.eager.buffers()
        undefined = Undefined()
        begin = time.monotonic()
        try:
            expected = self._expected(call, undefined)
        except Exception as error:  # the module may raise anything
            self.eager.set_buffers(before)
            if is_reached:
                self._expect_refusal(call, before, error, time.monotonic() - begin)
            return LeftOut("the module refused them")
        seconds = time.monotonic() - begin
        try:
            found = self._run(call, seconds)
        except ContractError:
            self.eager.set_buffers(before)
            return LeftOut("the contract refused them")
        agreement = self._agreement(call, before, found, expected)
        if isinstance(agreement, Agreed):
            return agreement
        reason = undefined.reason
        if reason is None or not works_by_value(call.method):
            explained = self._reason(call, before, found, expected, seconds)
            if explained is None:
                raise _fault(call, agreement, WrongProgramError)
            reason = reason or explained
        self.copy_state()
        return LeftOut(reason, has_run=True)

    def is_steady(self, call: Call, before: Mapping[str, torch.Tensor], outcome: Outcome) -> bool:
        """Tell whether a call does the same for `polystate doctor`, however its operators round."""
        after = self.eager.buffers()
        try:
            return not has_nan(outcome) and all(
                other is not None and difference(other, outcome, self.tolerance, least=1.0) is None
                for other in self._otherwise_rounded(call, before, _ROUNDINGS)
            )
        finally:
            self.eager.set_buffers(after)

    def _expected(self, call: Call, mode: Operators) -> Outcome:
        return self.eager.call(under(mode, call.method.function), call.args, call.kwargs)

    def _run(self, call: Call, seconds: float) -> Outcome:
        """Run the program; ExportError where it breaks what the contract promises.

        Here and in the functions below, `seconds` is the time that the module itself took.
        """
        try:
            outputs, after = self.program.run(call.method.name, self._inputs(call), seconds)
        except EngineError as error:
            raise _fault(call, f"the lowered program fails: {error}", _kind(error)) from error
        given, left = ([as_pairs(each) for each in found] for found in (outputs, after))
        return Outcome(given, left, self._program_state())

    def _inputs(self, call: Call) -> list[torch.Tensor]:
        """The inputs of a call as a program's caller has them."""
        given = tensors((call.args, call.kwargs))
        described = self.method(call.method.name).inputs
        return [as_described(spec, tensor) for spec, tensor in zip(described, given, strict=True)]

    def _program_state(self) -> dict[str, torch.Tensor]:
        return {name: as_pairs(value) for name, value in self.program.state().items()}

    def _agreement(
        self, call: Call, before: Mapping[str, torch.Tensor], found: Outcome, expected: Outcome
    ) -> Agreed | str:
        """What both did alike, or how they differ.

        Where they differ, the module is called once more with stable sorts.
        """
        differing = difference(found, expected, self.tolerance)
        if differing is None:
            return Agreed(expected)
        order = StableOrder()
        self.eager.set_buffers(before)
        ordered = self._expected(call, order)
        if order.has_decided and difference(found, ordered, self.tolerance) is None:
            return Agreed(ordered)
        self.eager.set_buffers(expected.buffers)
        return differing

    def _expect_refusal(
        self, call: Call, before: Mapping[str, torch.Tensor], error: Exception, seconds: float
    ) -> None:
        """Refuse a program that takes what the module refuses, or changes its state for it."""
        refuses = f"the module refuses them ({type(error).__name__}: {error}"[:300] + ")"
        try:
            self.program.run(call.method.name, self._inputs(call), seconds)
        except ProgramEndedError as ended:
            what = f"{refuses}; the lowered program fails: {ended}"
            raise _fault(call, what, EndedProgramError) from ended
        except ContractError:
            pass
        except EngineError as refused:
            if not self.method(call.method.name).atomic:
                what = f"{refuses}; so does the lowered program, whose state is lost: {refused}"
                raise _fault(call, what, WrongProgramError) from refused
        else:
            if LiveGraph(call.method).refuses(self.eager, call.args, call.kwargs):
                what = f"{refuses}; the lowered program takes them"
                raise _fault(call, what, WrongProgramError) from error
            self.copy_state()  # no result depends on what the module refuses
        for name, value in self._program_state().items():
            if first_deviation(value, before[name], self.tolerance) is not None:
                what = f"{refuses}; so does the lowered program, and it changes state '{name}'"
                raise _fault(call, what, WrongProgramError) from error

    def _reason(
        self,
        call: Call,
        before: Mapping[str, torch.Tensor],
        found: Outcome,
        expected: Outcome,
        seconds: float,
    ) -> str | None:
        """Why a difference does not count; None where it does.

        Undefined results are drawn anew, too, which shows what follows from them.
        """
        if has_nan(expected) and not differs_in_numbers(found, expected, self.tolerance):
            return "the module gave NaN"
        after = self.eager.buffers()
        self.eager.set_buffers(before)
        self.copy_state()  # which may have been off, within the tolerance
        found = self._run(call, seconds)
        others = self._otherwise_rounded(call, before, _MOST_ROUNDINGS)
        is_rounding = is_explained(
            found, expected, filter(None, others), self.tolerance, nan_counts=False
        )
        self.eager.set_buffers(after)
        return "rounding or the order of equal elements decided the result" if is_rounding else None

    def _otherwise_rounded(
        self, call: Call, before: Mapping[str, torch.Tensor], count: int
    ) -> Iterator[Outcome | None]:
        """What the module does with other roundings; None where it refuses."""
        is_drawn = not works_by_value(call.method)  # which might run for ever
        for seed in range(count):
            self.eager.set_buffers(before)
            try:
                yield self._expected(call, Rounding(seed, is_drawn=is_drawn))
            except Exception:  # the module may raise anything
                yield None


def works_by_value(method: Traced) -> bool:
    """Whether an integer may decide how long the method runs, or how much memory it takes."""
    graphs = [m for m in method.exported.graph_module.modules() if isinstance(m, GraphModule)]
    return any(node.target in _BY_VALUE for graph in graphs for node in graph.graph.nodes)


def as_described(
    described: manifest.Input | manifest.Output | manifest.State, tensor: torch.Tensor
) -> torch.Tensor:
    """A tensor as a program's caller has it, complex where the manifest says so."""
    return of_pairs(tensor) if described.dtype.startswith("complex") else tensor


def _kind(error: EngineError) -> type[ExportError]:
    return EndedProgramError if isinstance(error, ProgramEndedError) else ExportError


def _fault(call: Call, what: str, kind: type[ExportError]) -> ExportError:
    """The refusal of a program."""
    return kind(
        f"method '{call.method.name}' {call.where}: {what}; this is the backend's fault: try "
        f"another one, or other operators"
    )
