"""Modules that are drawn, and PyTorch's own samples of its operators: as many as fit into a time.

None differs in silence, none ends a process: each is as PyTorch computes it, or refused with a
typed error. The commands of drawn_modules.py, operator_samples.py and sweep.py try all of them.
"""

import itertools
import os

import pytest

from tests.end_to_end import drawn_modules, operator_samples, sweep
from tests.end_to_end.operator_cases import DTYPES
from tests.end_to_end.trials import EQUAL, LEFT_OUT, REFUSED, counts, run_all
from tests.end_to_end.twins import ENGINES

# Of wall time, for each engine; all together about two minutes on one of two workers.
_SECONDS = float(os.environ.get("POLYSTATE_TRIALS_SECONDS", "9"))

# And no more than these, so that a faster machine does not find what another one cannot.
_MODULES = {"portable": 40, "xnnpack": 40, "aoti": 12}
_SAMPLES = {"portable": 30, "xnnpack": 30, "aoti": 8}
_CASES = {"portable": 12, "xnnpack": 12, "aoti": 4}
_CALLS = {"portable": None, "xnnpack": None, "aoti": 2}  # of a dozen, each of which aoti compiles
_DYNAMIC = {"portable": 20, "xnnpack": 20, "aoti": 8}


def assert_never_wrong(results, what, record_property, least_equal=0.0):
    """None differs, and at least one is equal, and a share: what is refused shows nothing."""
    record_property("tried", f"{what}: {counts(results)}")
    wrong = [result for result in results if result.outcome not in (EQUAL, REFUSED, LEFT_OUT)]
    assert not wrong, "\n".join(map(str, wrong))
    equal = [result for result in results if result.outcome == EQUAL]
    assert len(equal) >= max(1, int(least_equal * len(results))), counts(results)


@pytest.mark.parametrize("backend", ENGINES)
def test_drawn_modules_are_right_or_refused(backend, record_property):
    first = {"portable": 0, "xnnpack": 10_000, "aoti": 20_000}[backend]
    drawn = drawn_modules.trials(first, _MODULES[backend])
    seconds = 2 * _SECONDS if backend == "aoti" else _SECONDS
    results = run_all(drawn, backend, seconds, lambda result: None)
    assert_never_wrong(results, f"drawn modules on {backend}", record_property, least_equal=0.8)
    refused = [result for result in results if result.outcome == REFUSED]
    assert len(refused) <= 1, "\n".join(map(str, refused))
    left_out = [result for result in results if result.outcome == LEFT_OUT]
    assert len(left_out) <= max(1, 0.05 * len(results)), "\n".join(map(str, left_out))


@pytest.mark.parametrize("backend", ENGINES)
def test_samples_of_operators_are_right_or_refused(backend, record_property):
    most, engines = _SAMPLES[backend], len(ENGINES)
    samples = operator_samples.trials(first=ENGINES.index(backend), part=engines)
    results = run_all(itertools.islice(samples, most), backend, _SECONDS, lambda result: None)
    what = f"samples of operators on {backend}"
    assert_never_wrong(results, what, record_property, least_equal=1 / 3)


@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_operators_with_types_are_right_or_refused(backend, is_whole, record_property):
    most, calls = (None, None) if is_whole else (_CASES[backend], _CALLS[backend])
    cases = itertools.islice(sweep.trials(list(DTYPES), calls=calls), most)
    results = run_all(cases, backend, 1200.0 if is_whole else _SECONDS, lambda result: None)
    assert_never_wrong(results, f"operators with types on {backend}", record_property)


@pytest.mark.parametrize("backend", ENGINES)
def test_operators_with_a_dynamic_dimension_are_right_or_refused(backend, record_property):
    cases = itertools.islice(sweep.trials(["float32"], dynamic=True), _DYNAMIC[backend])
    results = run_all(cases, backend, _SECONDS, lambda result: None)
    assert_never_wrong(results, f"operators with a dynamic dimension on {backend}", record_property)
