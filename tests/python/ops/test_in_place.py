"""The operators that write into a buffer mean what ATen's functional ones do."""

from __future__ import annotations

import pytest
import torch

import polystate.ops  # noqa: F401

ops = torch.ops.polystate


def test_slice_scatter_writes_a_clamped_slice() -> None:
    for start, end, step in [(0, 2, 1), (-2, 2**63 - 1, 1), (1, 100, 2), (3, 1, 1)]:
        buffer = torch.arange(12.0).reshape(4, 3)
        src = -torch.ones_like(buffer[start:end:step])
        expected = torch.slice_scatter(buffer, src, 0, start, end, step)
        assert ops.slice_scatter_(buffer, src, 0, start, end, step) is buffer
        assert torch.equal(buffer, expected)


def test_select_scatter_writes_one_row() -> None:
    for index in (0, 2, -1):
        buffer = torch.arange(12.0).reshape(4, 3)
        src = -torch.ones(4)
        expected = torch.select_scatter(buffer, src, 1, index)
        assert torch.equal(ops.select_scatter_(buffer, src, 1, index), expected)


def test_index_copy_writes_rows() -> None:
    buffer, rows = torch.zeros(4, 3), torch.tensor([3, 0])
    source = torch.arange(6.0).reshape(2, 3)
    expected = torch.index_copy(buffer, 0, rows, source)
    assert torch.equal(ops.index_copy_(buffer, 0, rows, source), expected)


def test_index_put_broadcasts_and_accumulates() -> None:
    for accumulate in (False, True):
        buffer = torch.arange(12.0).reshape(4, 3)
        indices = [None, torch.tensor([0, 2])]
        values = torch.tensor([[5.0, 6.0]])
        expected = torch.ops.aten.index_put(buffer, indices, values, accumulate)
        assert torch.equal(ops.index_put_(buffer, indices, values, accumulate), expected)


def test_what_is_written_must_have_the_buffers_dtype() -> None:
    buffer, source = torch.zeros(2, 2), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(TypeError, match=r"torch\.int64 source cannot be written into torch\.flo"):
        ops.select_scatter_(buffer, source, 0, 0)
