"""Equal elements stay in their order where PyTorch is asked for any order."""

from __future__ import annotations

import pytest
import torch

from polystate.export.verification.stable_order import StableOrder


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [0, -1])
def test_the_first_of_equal_elements_are_at_the_top(dim: int, largest: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 4, (40, 30))
    with StableOrder() as order:
        values, places = x.topk(7, dim, largest)
    assert order.has_decided
    torch.testing.assert_close(values, x.topk(7, dim, largest).values)
    torch.testing.assert_close(x.gather(dim, places), values)
    sign = -1 if largest else 1
    lines = x.movedim(dim, -1).reshape(-1, x.shape[dim]).tolist()
    right = [sorted(range(len(line)), key=lambda i: (sign * line[i], i))[:7] for line in lines]
    assert places.movedim(dim, -1).reshape(-1, 7).tolist() == right


def test_other_operators_are_as_they_are() -> None:
    with StableOrder() as order:
        torch.testing.assert_close(torch.tensor(3.0).topk(1).values, torch.tensor(3.0))
        torch.testing.assert_close(torch.tensor([1, 2]).cumsum(0), torch.tensor([1, 3]))
    assert not order.has_decided
