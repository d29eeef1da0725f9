"""Which elements are off by more than other roundings of one computation."""

import pytest
import torch

from polystate.export.tracing.closeness import Limits, deviating

LIMITS = Limits(relative=1e-4, absolute=1e-5)


def test_integers_and_bools_are_exact():
    found, expected = torch.tensor([50001, 3]), torch.tensor([50000, 3])
    assert deviating(found, expected, LIMITS).tolist() == [True, False]
    assert deviating(torch.tensor(True), torch.tensor(False), LIMITS)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masks_do_not_widen_the_limits_of_what_is_beside_them(dtype):
    for mask in (-torch.finfo(dtype).max, -1e4):
        expected = torch.tensor([0.0, mask], dtype=dtype)
        found = torch.tensor([0.25, mask], dtype=dtype)
        assert deviating(found, expected, Limits(0.01, 0.01)).tolist() == [True, False]


def test_equal_elements_of_a_usual_size_count():
    expected, found = torch.tensor([0.0, 50.0]), torch.tensor([4e-4, 50.0])
    assert not deviating(found, expected, LIMITS).any()
    assert deviating(found, expected, LIMITS._replace(equal=0.0)).tolist() == [True, False]


def test_small_elements_are_compared_by_their_size_where_no_scale_is_the_least():
    expected, found = torch.tensor([1e-6, 2e-6]), torch.tensor([1.1e-6, 2e-6])
    assert not deviating(found, expected, LIMITS).any()
    assert deviating(found, expected, LIMITS._replace(least=0.0)).tolist() == [True, False]


def test_complex_numbers_are_compared_by_their_distance():
    expected = torch.tensor([1 + 1e-9j, 1 + 1j])
    assert not deviating(expected + 1e-6j, expected, LIMITS).any()
    assert deviating(expected + 1e-3j, expected, LIMITS).all()


def test_nothing_deviates_among_no_elements():
    assert not deviating(torch.zeros(0), torch.zeros(0), LIMITS).any()
