"""Functions that are written without reading values give what PyTorch's do."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from polystate.export.tracing.asking_functions import segment_reduce
from polystate.export.tracing.margins import multi_margin_loss


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_of_lengths_and_offsets(reduce: str, dtype: torch.dtype) -> None:
    x = torch.randn(7, 3)
    for given in (
        {"offsets": torch.tensor([1, 1, 4, 7], dtype=dtype)},
        {"offsets": torch.tensor([0, 5], dtype=dtype)},
        {"lengths": torch.tensor([2, 0, 3], dtype=dtype), "unsafe": True},
        {"lengths": torch.tensor([2, 0, 5]), "initial": 2.0},
    ):
        found = segment_reduce(x, reduce, **given)
        expected = torch.segment_reduce(x, reduce, **given)
        torch.testing.assert_close(found, expected, equal_nan=True)
    both = {"lengths": torch.tensor([2, 5]), "offsets": torch.tensor([0, 2, 7])}
    found = segment_reduce(x, reduce, **both)
    torch.testing.assert_close(found, torch.segment_reduce(x, reduce, **both))
    each = torch.tensor([[1, 2, 0], [0, 0, 3]], dtype=dtype)
    rows = torch.randn(2, 3, 2)
    found = segment_reduce(rows, reduce, lengths=each, axis=1, unsafe=True)
    expected = torch.segment_reduce(rows, reduce, lengths=each, axis=1, unsafe=True)
    torch.testing.assert_close(found, expected, equal_nan=True)


SMALLEST, LARGEST = torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max


@pytest.mark.parametrize(
    "given",
    [
        {"lengths": torch.tensor([3, 3])},
        {"offsets": torch.tensor([0, 8])},
        {"offsets": torch.tensor([-1, 2])},
        {"offsets": torch.tensor([0, 5, 4])},
        {"offsets": torch.tensor([SMALLEST, LARGEST, 3])},
        {"lengths": torch.tensor([-1, 8])},
        {"lengths": torch.tensor([LARGEST, LARGEST, 9])},  # which wrap around to 7
        {"lengths": torch.tensor([3, 5]), "unsafe": True},
        {"lengths": torch.tensor([7]), "offsets": torch.tensor([0, 8])},
    ],
)
def test_segments_outside_of_a_tensor_are_refused(given: dict[str, Tensor]) -> None:
    with pytest.raises(RuntimeError, match="segments"):
        segment_reduce(torch.randn(7), "sum", **given)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
def test_margins_leave_out_what_is_no_number(p: int, reduction: str) -> None:
    loss = torch.nn.functional.multi_margin_loss
    rows, targets = 3 * torch.randn(6, 5), torch.tensor([0, 4, 2, 1, 1, 3])
    rows[2:4, 2] = math.nan
    for x, target in ((rows, targets), (rows[0], targets[0])):
        for weight in (None, torch.rand(5)):
            given = (x, target, p, 0.5, weight)
            found, right = (each(*given, reduction=reduction) for each in (multi_margin_loss, loss))
            torch.testing.assert_close(found, right)
