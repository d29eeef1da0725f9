"""What a traced method assumes about its inputs, in the manifest's form."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from torch.export import ExportedProgram

from polystate.artifact.expressions import Expression
from polystate.artifact.manifest import Check, Guard, Input, Output, Symbol, ValueRange
from polystate.errors import ExportError, UnsupportedError
from polystate.export.contract.checks import lower_assertions
from polystate.export.contract.guards import traced_guards
from polystate.export.contract.indices import index_ranges
from polystate.export.contract.trial import Trial
from polystate.export.graph.signature import (
    Argument,
    Result,
    constant_arguments,
    mutated_arguments,
    results,
    tensor_arguments,
)
from polystate.export.graph.sizes import Declared, DeclaredSize, Sizes, read_sizes
from polystate.export.state import dtype_name
from polystate.export.tracing.assertions import user_messages
from polystate.export.tracing.complex_boundary import ComplexPlaces
from polystate.export.tracing.dimensions import Axis, Dimensions
from polystate.export.tracing.pairs import complex_name

_Tensor = TypeVar("_Tensor", Input, Output)


@dataclass(frozen=True)
class MethodContract:
    """The part of a manifest's method that the trace decides.

    Attributes
    ----------
    constants
        Arguments that are no inputs, since the trace holds their values.
    """

    symbols: list[Symbol]
    inputs: list[Input]
    outputs: list[Output]
    guards: list[Guard]
    checks: list[Check]
    constants: list[Argument]


def method_contract(
    name: str,
    functional: ExportedProgram,
    declared: Declared,
    minimum_is_proved: bool = False,
    trial: Trial | None = None,
    checks_values: bool = False,
) -> MethodContract:
    """Read a method's contract and make its program keep what only the program can check.

    Parameters
    ----------
    name
        The method's, for messages.
    functional
        A program that was traced inside `recorded_assertions`, then secured (`secure_assertions`),
        then decomposed under the same ``backed_size_oblivious``: otherwise PyTorch adds guards
        against sizes 0 and 1. Its assertions are replaced in place, see `lower_assertions`.
    declared
        What the user said of the dimensions, see `declared_sizes`.
    minimum_is_proved
        Without a trial: whether the graph is known to be right at a declared minimum of 1 even
        where PyTorch traced for 2 and more.
    trial
        Finds out which of PyTorch's assumptions matter, see `traced_guards`, and knows the user's
        messages. Without it all assumptions count.

    checks_values
        See `lower_assertions`.

    Raises
    ------
    ExportError
        When no input can fulfil the contract.
    UnsupportedError
        When an assumption cannot be checked at run time, or an argument or a result is of a kind
        that the runtime does not have.
    """
    with _of_method(name):
        arguments = tensor_arguments(functional)
        returned = results(functional)
        sizes = _sizes(functional, arguments, declared, minimum_is_proved, trial)
        guards = traced_guards(functional, sizes, trial)
        indexed = index_ranges(functional, sizes)
        messages = user_messages(trial.exported) if trial else {}
        checked = lower_assertions(functional, sizes, messages, checks_values)
        written = mutated_arguments(functional)
        inputs = [
            Input(
                argument.name,
                dtype_name(argument.tensor.dtype),
                [sizes.expression(size) for size in argument.tensor.shape],
                _merged(indexed.get(argument.name, []), checked.ranges.get(argument.name, [])),
                written.get(argument.node.name),
            )
            for argument in arguments
        ]
        return MethodContract(
            symbols=sizes.symbols,
            inputs=inputs,
            outputs=[_output(result, sizes) for result in returned],
            guards=guards + [g for g in checked.guards if g.text not in {o.text for o in guards}],
            checks=checked.checks,
            constants=constant_arguments(functional),
        )


def with_complex(
    contract: MethodContract, functional: ExportedProgram, places: ComplexPlaces
) -> MethodContract:
    """The contract of callers, who pass and get complex tensors where the program has pairs."""
    arguments, returned = tensor_arguments(functional), results(functional)
    return dataclasses.replace(
        contract,
        inputs=[
            _as_complex(each) if argument.position in places.arguments else each
            for each, argument in zip(contract.inputs, arguments, strict=True)
        ],
        outputs=[
            _as_complex(each) if result.position in places.results else each
            for each, result in zip(contract.outputs, returned, strict=True)
        ],
    )


def _as_complex(tensor: _Tensor) -> _Tensor:
    return dataclasses.replace(
        tensor, dtype=complex_name(tensor.dtype), shape=list(tensor.shape[:-1])
    )


def _sizes(
    functional: ExportedProgram,
    inputs: Sequence[Argument],
    declared: Declared,
    minimum_is_proved: bool,
    trial: Trial | None,
) -> Sizes:
    """Read the sizes, from 0 or 1 where that was declared and the program is right there."""
    if trial is None:
        return read_sizes(functional, inputs, declared, minimum_is_proved)
    widest = read_sizes(functional, inputs, declared, trust_minimum=True)
    for symbol in widest.symbols:
        if symbol.max >= 2**62:
            raise ExportError(
                f"dimension '{symbol.name}' has no maximum, and memory is planned at export; give "
                f"it one: Dim.AUTO(max=...)"
            )
    traced = read_sizes(functional, inputs, declared)
    symbols = [
        dataclasses.replace(of_trace, min=_least(of_trace, of_user.min, widest, trial))
        for of_user, of_trace in zip(widest.symbols, traced.symbols, strict=True)
    ]
    return Sizes(symbols, widest.names)


def _least(traced: Symbol, declared: int, widest: Sizes, trial: Trial) -> int:
    """The smallest size from which on the program is right, from what was declared on.

    Without 0, where the module itself refuses it: a program may take it.

    Parameters
    ----------
    traced
        The size, from what PyTorch traced for on.
    declared
        The smallest one that the user declared.
    widest
        All sizes, from what the user declared on.
    """
    was_traced: Expression = [">=", traced.name, traced.min]
    first, last = declared, traced.min
    if declared == 0 < traced.max and trial.is_refused_at({traced.name: 0}, widest):
        first, last = 1, max(traced.min, 1)
    return next(
        (
            low
            for low in range(first, last)
            if trial.holds_without(was_traced, [[">=", traced.name, low]], widest)
        ),
        last,
    )


def declared_sizes(dimensions: Dimensions) -> Declared:
    """Bring the dimensions of a method's examples to the form that contracts are read with."""
    return {(axis.leaf, axis.dimension): _declared_size(axis) for axis in dimensions.axes}


def _declared_size(axis: Axis) -> DeclaredSize:
    offset = axis.size_of(0)
    name = None if axis.hint else axis.key
    return DeclaredSize(name, axis.min, axis.max, axis.size_of(1) - offset, offset)


@contextlib.contextmanager
def _of_method(name: str) -> Iterator[None]:
    """Name the method in errors."""
    try:
        yield
    except (ExportError, UnsupportedError) as error:
        raise type(error)(f"method '{name}': {error}") from error


def _output(result: Result, sizes: Sizes) -> Output:
    value = result.node.meta["val"]
    shape = [_known(size, sizes) for size in value.shape]
    return Output(result.name, dtype_name(value.dtype), shape, result.program_output)


def _known(size: Any, sizes: Sizes) -> Expression | None:
    """Write a size of a result; None where only the run decides it."""
    try:
        return sizes.expression(size)
    except UnsupportedError:
        return None


def _merged(*ranges: Sequence[ValueRange]) -> list[ValueRange]:
    """Join limits, without those that others state too."""
    merged: list[ValueRange] = []
    for limits in (r for each in ranges for r in each):
        if not any(_states(other, limits) for other in merged):
            merged.append(limits)
    return merged


def _states(one: ValueRange, other: ValueRange) -> bool:
    """Tell whether a range plainly implies another."""
    return (
        other.min is None
        or other.min == one.min
        or (isinstance(one.min, int) and isinstance(other.min, int) and one.min >= other.min)
    ) and (
        other.max is None
        or other.max == one.max
        or (isinstance(one.max, int) and isinstance(other.max, int) and one.max <= other.max)
    )
