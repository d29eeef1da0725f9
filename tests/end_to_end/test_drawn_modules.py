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

# Of wall time, for each engine; all together about two minutes on one of two workers.
_SECONDS = float(os.environ.get("POLYSTATE_TRIALS_SECONDS", "17"))

# And no more than these, so that a faster machine does not find what another one cannot.
_MODULES = {"portable": 40, "xnnpack": 40, "aoti": 12}
_SAMPLES = 30
_CASES = 12


def assert_never_wrong(results, what, record_property, least_equal=0.0):
    """None differs, and at least one is equal, and a share: what is refused shows nothing."""
    record_property("tried", f"{what}: {counts(results)}")
    wrong = [result for result in results if result.outcome not in (EQUAL, REFUSED, LEFT_OUT)]
    assert not wrong, "\n".join(map(str, wrong))
    equal = [result for result in results if result.outcome == EQUAL]
    assert len(equal) >= max(1, int(least_equal * len(results))), counts(results)


@pytest.mark.parametrize("backend", ["portable", "xnnpack", "aoti"])
def test_drawn_modules_are_right_or_refused(backend, record_property):
    first = {"portable": 0, "xnnpack": 10_000, "aoti": 20_000}[backend]
    drawn = drawn_modules.trials(first, _MODULES[backend])
    results = run_all(drawn, backend, _SECONDS, lambda result: None)
    assert_never_wrong(results, f"drawn modules on {backend}", record_property, least_equal=0.8)
    refused = [result for result in results if result.outcome == REFUSED]
    assert len(refused) <= 1, "\n".join(map(str, refused))
    left_out = [result for result in results if result.outcome == LEFT_OUT]
    assert len(left_out) <= max(1, 0.05 * len(results)), "\n".join(map(str, left_out))


@pytest.mark.parametrize(("backend", "start"), [("portable", 0), ("xnnpack", 1)])
def test_samples_of_operators_are_right_or_refused(backend, start, record_property):
    samples = itertools.islice(operator_samples.trials(), start, 2 * _SAMPLES, 2)
    results = run_all(samples, backend, _SECONDS, lambda result: None)
    what = f"samples of operators on {backend}"
    assert_never_wrong(results, what, record_property, least_equal=1 / 3)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize(
    ("seconds", "most"),
    [(_SECONDS, _CASES), pytest.param(1800.0, None, marks=pytest.mark.exhaustive)],
)
def test_operators_with_types_are_right_or_refused(backend, seconds, most, record_property):
    drawn = itertools.islice(sweep.trials(list(DTYPES)), most)
    results = run_all(drawn, backend, seconds, lambda result: None)
    assert_never_wrong(results, f"operators with types on {backend}", record_property)
