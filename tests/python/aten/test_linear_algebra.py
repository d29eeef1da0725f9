"""Kernels of linear algebra give what PyTorch's do."""

from __future__ import annotations

import torch

from tests.python.aten.compared_kernels import ComparedKernels, compare_samples

DTYPES = (torch.float32, torch.float64)
SYSTEMS = """
    cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex linalg.inv
    linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve
    linalg.solve linalg.solve_ex linalg.solve_triangular lu_unpack triangular_solve
"""


def test_systems_and_their_factors() -> None:
    counts = compare_samples(SYSTEMS.split(), DTYPES, most=12)
    assert counts.keys() >= {
        "aten.cholesky_inverse.default",
        "aten.cholesky_solve.default",
        "aten.linalg_cholesky_ex.default",
        "aten.linalg_inv_ex.default",
        "aten.linalg_lu.default",
        "aten.linalg_lu_factor_ex.default",
        "aten.linalg_lu_solve.default",
        "aten.linalg_solve_triangular.default",
        "aten.lu_unpack.default",
        "aten.triangular_solve.default",
    }


def test_matrices_of_many_sizes() -> None:
    torch.manual_seed(0)
    for shape in ((1, 1), (0, 0), (0, 3, 3), (2, 0, 3, 3), (2, 3, 40, 40), (70, 70)):
        for dtype in DTYPES:
            a = torch.randn(shape, dtype=dtype)
            b = torch.randn(*shape[:-1], 3, dtype=dtype)
            positive = a @ a.mT + torch.eye(shape[-1], dtype=dtype)
            with ComparedKernels():
                factor = torch.linalg.cholesky(positive)
                torch.cholesky_solve(b, factor)
                torch.cholesky_inverse(torch.linalg.cholesky(positive, upper=True), upper=True)
                torch.linalg.inv(positive)
                torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b.mT.clone(), left=False)
                for upper in (False, True):
                    torch.linalg.solve_triangular(positive, b, upper=upper)
                    torch.triangular_solve(b, positive, upper=upper, transpose=True)
