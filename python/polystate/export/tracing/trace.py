"""From a method to a graph that is right over the whole of its declared ranges.

torch.export specialises on its example in several ways. A ladder of attempts (sizes 0 and 1 treated
as any other size; examples grown to sizes inside their ranges) finds one that it accepts, and a
replay at the corners of the ranges decides whether the graph is right there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast
from unittest import mock

import torch
import torch.fx.experimental._config
from torch.export import ExportedProgram

from polystate.errors import Error, ExportError, UnsupportedError
from polystate.export.diagnosis.explain import explain
from polystate.export.diagnosis.problems import Problem, problem_of
from polystate.export.graph.changes import separated_changes
from polystate.export.graph.sources import recorded_sources
from polystate.export.method import Method, as_forward, resolve
from polystate.export.tracing import fast_paths
from polystate.export.tracing.assertions import recorded_assertions, secure_assertions
from polystate.export.tracing.assumed_constants import with_assumed_constants
from polystate.export.tracing.assumptions import Assumptions, without_idle_guards
from polystate.export.tracing.batch_norms import traced_cumulative_averages
from polystate.export.tracing.bools import hold_plain_bools
from polystate.export.tracing.branches import make_branches_functional, refuse_complex_branches
from polystate.export.tracing.complex_boundary import (
    ComplexPlaces,
    over_pairs,
    registered_as_pairs,
)
from polystate.export.tracing.complex_numbers import ComplexAsParts
from polystate.export.tracing.control_flow import compiled_for_a_while
from polystate.export.tracing.decompositions.table import DECOMPOSED
from polystate.export.tracing.dimensions import Dimensions, with_plain_shapes
from polystate.export.tracing.eager import EagerModule, Entry
from polystate.export.tracing.element_indices import index_by_tensors, with_placed_results
from polystate.export.tracing.exclusive_or import written_exclusive_or
from polystate.export.tracing.fixed_arguments import with_fixed_arguments
from polystate.export.tracing.fixing_functions import functions_of_sizes
from polystate.export.tracing.hidden_state import refuse_hidden_state
from polystate.export.tracing.hinted_ranges import hinted_ranges
from polystate.export.tracing.linear_algebra import LINEAR_ALGEBRA, checks_are_written_out
from polystate.export.tracing.observers import FAKE_QUANTIZATION, without_branches
from polystate.export.tracing.plain_tensors import refuse_unusual_examples
from polystate.export.tracing.printed_graphs import no_printed_graphs
from polystate.export.tracing.randomness import refuse_randomness
from polystate.export.tracing.rebound_buffers import (
    unseen_assignments,
    with_written_buffers,
    without_empty_buffers,
)
from polystate.export.tracing.recurrent import (
    CELLS,
    NETWORKS,
    networks_of_any_length,
    refuse_packed_sequences,
)
from polystate.export.tracing.replaced_functions import ReplacedFunctions
from polystate.export.tracing.replay import first_deviation
from polystate.export.tracing.reshapes import COPIES
from polystate.export.tracing.strided_views import refuse_strides_of_memory
from polystate.export.tracing.traced import Traced
from polystate.export.tracing.undeclared_writes import declare_writes
from polystate.quiet import quiet

_SHAPE_CONFIG: Any = torch.fx.experimental._config


@dataclass(frozen=True)
class _Rung:
    how: str
    oblivious: bool
    grown: bool
    copies: bool = False


# Grown examples first: sizes of 0 and 1, or at an end of their range, invite specialisation.
_LADDER = (
    _Rung("sizes 0 and 1 as any other, grown examples", oblivious=True, grown=True),
    _Rung("plain, grown examples", oblivious=False, grown=True),
    _Rung("grown examples, copied where reshaped", oblivious=True, grown=True, copies=True),
    _Rung("sizes 0 and 1 as any other", oblivious=True, grown=False),
    _Rung("plain", oblivious=False, grown=False),
)


def trace(eager: EagerModule, name: str, method: Method, *, at_corners: bool = True) -> Traced:
    """Exports one method over the whole of its ranges.

    Parameters
    ----------
    at_corners
        Whether the graph is compared with the module at the corners of the ranges, too.

    Raises
    ------
    ExportError
        When the method hides state, or no attempt gives a graph that equals the module at the
        corners of its ranges.
    """
    refuse_unusual_examples(name, method.args, method.kwargs)
    method = with_fixed_arguments(eager.model, name, method)
    method = with_plain_shapes(name, resolve(eager.model, name, method), method)
    method, complex_places = over_pairs(eager.model, name, method)
    function = resolve(eager.model, name, method)
    args, kwargs = method.examples()
    refuse_packed_sequences(name, args, kwargs)
    dimensions = Dimensions.of(name, function, args, kwargs, method.dynamic_shapes)
    if at_corners:
        dimensions.refuse_what_has_no_room(name, args, kwargs)
    try:
        sizes = [*dimensions.corners()[:1], dimensions.small()]
        others = [dimensions.resized(args, kwargs, each) for each in sizes if each]
        function = with_assumed_constants(eager, function, args, kwargs)
        method = dataclasses.replace(method, target=function)
        refuse_hidden_state(eager, Entry(name, function, [(args, kwargs), *others]))
    except Error:
        raise
    except Exception as error:
        problem, what = problem_of(error), f"method '{name}' fails on its own examples"
        refusal = ExportError(problem.told(what) if problem else f"{what}: {explain(error)}")
        refusal.example = problem.example if problem else None
        raise refusal from error
    failures = _Failures(name, ranges=bool(dimensions.axes))
    for attempt in _attempts(eager, function, method, dimensions, failures):
        with failures.noted(attempt.exported):
            traced = _decomposed(attempt, name, method, complex_places, (args, kwargs))
            deviation = first_deviation(eager, traced, at_corners=at_corners)
            if deviation is None:
                return traced
            failures.add(deviation)
    raise failures.error() from failures.first


@dataclass(frozen=True)
class _Attempt:
    """What torch.export gave on a rung: a graph as in `Traced.exported`, by which paths."""

    rung: _Rung
    exported: ExportedProgram
    dimensions: Dimensions
    assumptions: Assumptions
    paths: list[str]

    def covers_all(self) -> bool:
        """Whether the graph holds for all that the user declared."""
        return not self.dimensions.narrowed and all(
            self.dimensions.declare(self.exported, guard.expr) for guard in self.assumptions.guards
        )


@dataclass
class _Failures:
    """What went wrong on the rungs of a method."""

    method: str
    ranges: bool  # whether sizes vary
    first: Exception | None = None  # what a library raised first
    _problems: dict[str, Problem] = field(default_factory=dict)  # by their kinds
    _others: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        self._others.append(what)

    @contextlib.contextmanager
    def noted(self, exported: ExportedProgram | None = None) -> Iterator[None]:
        """Adds what the block raises, unless another rung cannot help."""
        try:
            yield
        except UnsupportedError as error:
            raise UnsupportedError(f"method '{self.method}': {error}") from error
        except Exception as error:  # torch.export raises many kinds
            self._add_error(error, exported)

    def _add_error(self, error: Exception, exported: ExportedProgram | None) -> None:
        self.first = self.first or error
        problem = problem_of(error, () if exported is None else (exported,))
        if problem is None:
            self.add(explain(error))
            return
        known = self._problems.get(problem.example)
        if known is None or (problem.line and not known.line):
            self._problems[problem.example] = problem

    def error(self) -> ExportError:
        """What went wrong; what no kind of problem explains is told where there is nothing else."""
        what = f"method '{self.method}' cannot be exported" + " over its ranges" * self.ranges
        problems = list(self._problems.values())
        others = [] if problems and not self.ranges else list(dict.fromkeys(self._others))
        if not others and len(problems) == 1:
            error = ExportError(problems[0].told(what))
        else:
            lines = [what + ":", *others, *(p.told("or" if others else "there") for p in problems)]
            error = ExportError("\n  ".join(lines))
        error.example = problems[0].example if problems else None
        return error


def _attempts(
    eager: EagerModule,
    function: Callable[..., Any],
    method: Method,
    dimensions: Dimensions,
    failures: _Failures,
) -> Iterator[_Attempt]:
    """Climbs the ladder: gives what covers all as it is found, then the others, widest first.

    The others wait, since decomposing a graph and comparing it takes longer than another rung.
    """
    narrow: list[_Attempt] = []
    for rung in _LADDER:
        if rung.grown and not dimensions.axes:
            continue
        attempt = None
        with failures.noted():
            attempt = _attempt(eager, function, method, dimensions, rung)
        if attempt is not None and attempt.covers_all():
            yield attempt
        elif attempt is not None:
            narrow.append(attempt)
    yield from sorted(narrow, key=lambda attempt: attempt.assumptions.breadth(), reverse=True)


def _attempt(
    eager: EagerModule,
    function: Callable[..., Any],
    method: Method,
    dimensions: Dimensions,
    rung: _Rung,
) -> _Attempt:
    args, kwargs = method.examples()
    if not rung.grown:
        return _traced(eager, function, method, dimensions, rung, args, kwargs)
    sizes = dimensions.interior(args, kwargs)
    grown = dimensions.resized(args, kwargs, sizes)
    attempt = _traced(eager, function, method, dimensions, rung, *grown)
    others = dimensions.more_usual(attempt.exported, args, kwargs, sizes)
    if others is not None:
        grown = dimensions.resized(args, kwargs, others)
        attempt = _traced(eager, function, method, dimensions, rung, *grown)
    if dimensions.fixed_at_another_size(attempt.exported, args, kwargs):
        raise ExportError("PyTorch fixes a size that dynamic_shapes leaves to it")
    return attempt


def _traced(
    eager: EagerModule,
    function: Callable[..., Any],
    method: Method,
    dimensions: Dimensions,
    rung: _Rung,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> _Attempt:
    with (
        eager.restored(),
        registered_as_pairs(eager.model, function) as traced,
        without_empty_buffers(eager.model),
        as_forward(
            eager.model, with_placed_results(with_written_buffers(eager.model, traced))
        ) as module,
        unseen_assignments(),
        _sizes_as_declared(rung.oblivious),
        recorded_assertions(),
        recorded_sources(),
        fast_paths.told() as paths,
        networks_of_any_length(),
        functions_of_sizes(),
        written_exclusive_or(),
        ReplacedFunctions(COPIES if rung.copies else {}),
        ComplexAsParts(),
        traced_cumulative_averages(),
        compiled_for_a_while(),
        without_branches(eager.model),
        no_printed_graphs(),
        quiet(),
        torch.no_grad(),
    ):
        exported = torch.export.export(
            module, args, kwargs, dynamic_shapes=method.dynamic_shapes, strict=False
        )
    hold_plain_bools(exported)
    assumptions = Assumptions.of(exported)
    return _Attempt(rung, exported, dimensions.found_by(exported), assumptions, paths)


def _decomposed(
    attempt: _Attempt,
    name: str,
    method: Method,
    complex_places: ComplexPlaces,
    examples: tuple[tuple[Any, ...], dict[str, Any]],
) -> Traced:
    function = cast("Callable[..., Any]", method.target)
    oblivious = attempt.rung.oblivious
    secure_assertions(attempt.exported)
    declare_writes(attempt.exported)
    make_branches_functional(attempt.exported)
    with (
        _SHAPE_CONFIG.patch(backed_size_oblivious=oblivious),
        separated_changes(),
        checks_are_written_out(),
    ):
        functional = attempt.exported.run_decompositions(
            {**DECOMPOSED, **LINEAR_ALGEBRA, **NETWORKS, **CELLS, **FAKE_QUANTIZATION}
        )
    refuse_randomness(functional)
    refuse_complex_branches(functional)
    refuse_strides_of_memory(functional, attempt.exported, (method.args, method.kwargs))
    index_by_tensors(functional)
    attempt.assumptions.restore_ranges(functional)
    return Traced(
        name=name,
        function=function,
        complex_places=complex_places,
        args=examples[0],
        kwargs=examples[1],
        dimensions=attempt.dimensions,
        exported=attempt.exported,
        functional=functional,
        assumptions=attempt.assumptions,
        how="; ".join([attempt.rung.how, *attempt.paths, *_fixed(function, *examples)]),
        draw=method.draw,
    )


def _fixed(function: Callable[..., Any], args: Any, kwargs: Any) -> list[str]:
    """The numbers and texts among the examples, which are constants of the method, in words."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # a function without a signature
        return []
    named = {name: value for name, value in bound.items() if isinstance(value, int | float | str)}
    told = ", ".join(f"{name} = {value!r}" for name, value in named.items())
    return [f"fixed at the export: {told}"] if told else []


@contextlib.contextmanager
def _sizes_as_declared(oblivious: bool) -> Iterator[None]:
    """Lets sizes vary as the user said; where oblivious, 0 and 1 as any other sizes."""
    with (
        _SHAPE_CONFIG.patch(backed_size_oblivious=oblivious),
        hinted_ranges(),
        without_idle_guards(),
        _no_overlap_check(),
    ):
        yield


@contextlib.contextmanager
def _no_overlap_check() -> Iterator[None]:
    """Stops aten's check for self-overlapping memory.

    It compares strides with sizes and so specialises them. Such tensors come from expand, and are
    refused by the eager run when they are written to.
    """
    too_hard_to_tell = 2  # in aten's words; it passes
    with mock.patch.object(torch, "_debug_has_internal_overlap", lambda _: too_hard_to_tell):
        yield
