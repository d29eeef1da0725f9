"""Kernels that keep triangles of matrices give what PyTorch's do."""

from __future__ import annotations

import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from polystate.export.lowering.row_decompositions import ROW_OPERATORS
from tests.python.aten.compared_kernels import ALL, ComparedKernels, compare_samples

aten = torch.ops.aten


def test_samples_of_pytorch() -> None:
    assert compare_samples(["tril"]).keys() == {"aten.tril.default"}


@pytest.mark.parametrize("dtype", ALL)
def test_triangles_of_any_matrices(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    triu = ROW_OPERATORS[aten.triu.default]
    with ComparedKernels(tolerance=(0, 0)) as compared:
        for shape in ((4, 4), (2, 3, 7), (3, 2, 7, 1), (2, 0, 3), (2, 3, 0)):
            x = (torch.randn(shape) * 9).to(dtype)
            if dtype.is_floating_point:
                x.view(-1)[::5] = math.nan
            for diagonal in (0, 1, -1, 2, -3, 100, -100, 2**62, -(2**62)):
                aten.tril(x, diagonal)
                aten.tril(x.mT, diagonal)
                if abs(diagonal) <= 100:
                    torch.testing.assert_close(triu(x, diagonal), x.triu(diagonal), equal_nan=True)
    assert compared.counts["aten.tril.default"] == 5 * (2 * 9 + 7)


def test_what_is_no_matrix_is_refused() -> None:
    out = torch.zeros(3)
    with pytest.raises(EngineError, match=r"polystate_faster::tril\.out.*self is no matrix"):
        _core.call_operator("polystate_faster::tril.out", [torch.ones(3), 0, out], 1)
    assert not out.any()
