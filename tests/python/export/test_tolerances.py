"""How far a result may be from the module's."""

import pytest
import torch

from polystate.export.verification.tolerances import (
    deviating,
    first_deviation,
    tolerances,
    tolerances_by_type,
    widest,
)


def test_single_precision_is_kept_closer_than_half_precision():
    assert tolerances({"float32", "int64"}, None) < tolerances({"float32", "bfloat16"}, None)


def test_the_first_element_that_is_off_is_named():
    expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = torch.tensor([[1.0, 2.0], [3.5, 5.0]])
    assert first_deviation(found, expected, (0.0, 0.0)) == "[1, 0] is 3.5, expected 3"
    assert first_deviation(found, expected, (0.0, 0.25)) is None


def test_a_large_element_widens_the_limit_of_its_own_tensor():
    assert first_deviation(torch.tensor([0.5, 100]), torch.tensor([0, 100.0]), (0, 0.01)) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_mask_does_not_widen_the_limit(dtype):
    lowest = torch.finfo(dtype).min
    found = torch.tensor([0.5, lowest], dtype=dtype)
    expected = torch.tensor([0.0, lowest], dtype=dtype)
    assert first_deviation(found, expected, (0, 0.01)) == "[0] is 0.5, expected 0"


def test_what_is_equal_and_much_larger_does_not_widen_the_limit():
    expected = torch.tensor([0.0, -1e9, 50.0])
    found = torch.tensor([0.75, -1e9, 50.0])
    assert first_deviation(found, expected, (0, 0.01)) == "[0] is 0.75, expected 0"
    assert first_deviation(found, expected, (0, 0.02)) is None  # of the scale 50
    differing = torch.tensor([0.75, -1e9 + 64, 50.0])
    assert first_deviation(differing, expected, (0, 0.01)) is None


def test_doubles_that_follow_from_doubles_alone_are_compared_as_such():
    by_type = tolerances_by_type({torch.float64: 8, torch.float32: 4}, None)
    seconds = torch.tensor([1.7e9 + 60.0], dtype=torch.float64)
    assert first_deviation(seconds.float().double(), seconds, by_type) is not None
    assert first_deviation(seconds * (1 + 1e-12), seconds, by_type) is None
    assert first_deviation(seconds.float() * (1 + 1e-6), seconds.float(), by_type) is None
    assert widest(by_type) == tolerances({"float32", "float64"}, None)
    narrow = tolerances_by_type({torch.float64: 4}, None)
    assert first_deviation(seconds.float().double(), seconds, narrow) is None


def test_what_follows_from_half_precision_has_its_tolerance():
    by_type = tolerances_by_type({torch.float32: 2, torch.float16: 2}, None)
    assert by_type[torch.float32] == by_type[torch.float16] == tolerances({"float16"}, None)
    quantized = tolerances_by_type({torch.float32: 4}, "q8")
    assert quantized[torch.float32] == tolerances({"float32"}, "q8")
    assert widest({}) == tolerances({"int64"}, None)


def test_only_elements_that_are_to_be_nan_are_left_out():
    nan = float("nan")
    expected = torch.tensor([nan, 1.0, nan])
    right, wrong = torch.tensor([0.0, 1.0, nan]), torch.tensor([0.0, 2.0, nan])
    assert first_deviation(right, expected, (0, 0), nan_counts=False) is None
    assert first_deviation(right, expected, (0, 0)) == "[0] is 0, expected nan"
    assert deviating(wrong, expected, (0, 0), nan_counts=False).tolist() == [False, True, False]
    form = first_deviation(torch.zeros(2), expected, (0, 0), nan_counts=False)
    assert form == "it is torch.float32 [2], not torch.float32 [3]"


def test_integers_and_forms_must_be_equal():
    assert first_deviation(torch.tensor(3), torch.tensor(4), (1, 1)) == "[] is 3, expected 4"
    told = first_deviation(torch.zeros(2), torch.zeros(3), (1, 1))
    assert told == "it is torch.float32 [2], not torch.float32 [3]"


def test_nan_equals_nan_and_infinity_the_same_infinity():
    values = torch.tensor([float("nan"), float("inf")])
    assert first_deviation(values, values.clone(), (0, 0)) is None
    assert first_deviation(-values, values, (1, 1)) == "[1] is -inf, expected inf"


def test_numbers_beyond_half_of_the_range_are_as_infinite_as_infinity():
    expected = torch.tensor([2.6e38, 2.6e38, -2.6e38])
    infinite = torch.tensor([float("inf"), 3.0e38, float("-inf")])
    assert first_deviation(infinite, expected, (0, 0)) is None
    assert first_deviation(-infinite, expected, (0, 0)) is not None
    assert first_deviation(infinite, expected / 4, (0, 0)) is not None
