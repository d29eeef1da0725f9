"""How far a result may be from the module's."""

import pytest
import torch

from polystate.export.verification.tolerances import first_deviation, tolerances


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
