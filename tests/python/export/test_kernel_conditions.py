"""What kernels need is told for values that they take and for those that they do not."""

from __future__ import annotations

import itertools

import torch

from polystate.export.contract.kernel_conditions import are_bags, are_pivots


def _are_blocks(pivots: tuple[int, ...]) -> bool:
    """Go from one block to the next one, as the kernel of ExecuTorch programs does."""
    left = list(pivots)
    while left:
        row = left.pop(0)
        if not 1 <= abs(row) <= len(pivots):
            return False
        if row < 0 and (not left or left.pop(0) != row):
            return False
    return True


def test_pivots_are_rows_or_pairs_of_them() -> None:
    for size in range(5):
        for pivots in itertools.product(range(-size - 1, size + 2), repeat=size):
            found = are_pivots(torch.tensor(pivots, dtype=torch.int32))
            assert bool(found) == _are_blocks(pivots), pivots
    for wrong in (2**31 - 1, -(2**31)):
        assert not are_pivots(torch.tensor([1, wrong], dtype=torch.int32))
    batch = torch.tensor([[1, 2, 3], [-2, -2, 3], [1, -3, -3]])
    assert are_pivots(batch)
    batch[1, 1] = 2
    assert not are_pivots(batch)


def test_pivots_of_factorizations_are_taken() -> None:
    for size in (1, 2, 3, 8, 20):
        x = torch.randn(40, size, size)
        assert are_pivots(torch.linalg.ldl_factor(x + x.mT).pivots)


def test_bags_begin_at_0_and_go_up() -> None:
    words = torch.zeros(3, dtype=torch.int64)
    for offsets in ([0], [0, 0, 3], [0, 1, 2], []):
        assert are_bags(words, torch.tensor(offsets, dtype=torch.int64))
    for offsets in ([1], [0, 2, 1], [0, 4], [0, -1], [-1, 2]):
        assert not are_bags(words, torch.tensor(offsets))
