"""Kernels of linear algebra give what PyTorch's do."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from polystate import _core
from polystate.errors import Error
from polystate.export.tracing import vector_signs
from tests.python.aten.compared_kernels import ComparedKernels, call_kernel, compare_samples

aten = torch.ops.aten

DTYPES = (torch.float32, torch.float64)
SYSTEMS = """
    cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex linalg.inv
    linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve
    linalg.solve linalg.solve_ex linalg.solve_triangular lu_unpack triangular_solve
"""


# Of float32, relative and absolute: LAPACK adds up in float32, in an order of the processor's.
SINGLE = (1e-5, 1e-4)


def _compare(names: str) -> dict[str, int]:
    single = compare_samples(names.split(), DTYPES[:1], most=12, tolerance=SINGLE)
    double = compare_samples(names.split(), DTYPES[1:], most=12)
    assert single.keys() == double.keys()
    return double


def test_systems_and_their_factors() -> None:
    counts = _compare(SYSTEMS)
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


MATRICES = {
    "aten.cholesky_inverse.default",
    "aten.cholesky_solve.default",
    "aten.linalg_cholesky_ex.default",
    "aten.linalg_inv_ex.default",
    "aten.linalg_lu_factor_ex.default",
    "aten.linalg_lu_solve.default",
    "aten.linalg_solve_triangular.default",
    "aten.triangular_solve.default",
}


def test_matrices_of_many_sizes() -> None:
    torch.manual_seed(0)
    for shape in ((1, 1), (0, 0), (0, 3, 3), (2, 0, 3, 3), (2, 3, 40, 40), (70, 70)):
        for dtype in DTYPES if shape[-1] < 32 else DTYPES[1:]:
            a = torch.randn(shape, dtype=dtype)
            b = torch.randn(*shape[:-1], 3, dtype=dtype)
            positive = a @ a.mT + torch.eye(shape[-1], dtype=dtype)
            with ComparedKernels() as compared:
                factor = torch.linalg.cholesky(positive)
                torch.cholesky_solve(b, factor)
                torch.cholesky_inverse(torch.linalg.cholesky(positive, upper=True), upper=True)
                torch.linalg.inv(positive)
                torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b.mT.clone(), left=False)
                for upper in (False, True):
                    torch.linalg.solve_triangular(positive, b, upper=upper)
                    torch.triangular_solve(b, positive, upper=upper, transpose=True)
            assert compared.counts.keys() >= MATRICES


def test_factors_of_matrices_that_are_wide_or_tall() -> None:
    torch.manual_seed(0)
    with ComparedKernels((1e-4, 1e-4)) as compared:
        for rows, columns in ((17, 33), (32, 33), (33, 34), (60, 40), (40, 60), (20, 200)):
            for dtype in DTYPES:
                a = torch.randn(2, rows, columns, dtype=dtype)
                torch.linalg.lu(a)
                torch.lu_unpack(*torch.linalg.lu_factor(a))
            a[:, :, 3] = 0  # of float64; a column that no row can be taken for
            torch.linalg.lu(a)
    assert compared.counts["aten.linalg_lu.default"] == 18
    assert compared.counts["aten.linalg_lu_factor_ex.default"] == 12


def test_reflections_and_the_rest() -> None:
    names = """
        geqrf linalg.det linalg.householder_product linalg.ldl_factor linalg.ldl_factor_ex
        linalg.ldl_solve linalg.qr linalg.slogdet ormqr
    """
    counts = _compare(names)
    assert counts.keys() >= {
        "aten._linalg_det.default",
        "aten._linalg_slogdet.default",
        "aten.geqrf.default",
        "aten.linalg_householder_product.default",
        "aten.linalg_ldl_factor_ex.default",
        "aten.linalg_ldl_solve.default",
        "aten.linalg_qr.default",
        "aten.ormqr.default",
    }


def test_symmetric_factors_of_many_pivots() -> None:
    torch.manual_seed(0)
    for size in (1, 2, 3, 6, 9):
        a = torch.randn(20, size, size, dtype=torch.float64)
        a = a + a.mT - 2 * torch.diag_embed(a.diagonal(dim1=-2, dim2=-1))  # blocks of 2 x 2
        with ComparedKernels() as compared:
            factors, pivots = torch.linalg.ldl_factor(a + 0.1 * torch.eye(size))
            torch.linalg.ldl_solve(factors, pivots, torch.randn(20, size, 2, dtype=torch.float64))
        assert len(compared.counts) == 2


def test_exponentials_of_any_norm() -> None:
    torch.manual_seed(0)
    for dtype in DTYPES:
        a = torch.randn(4, 4, dtype=dtype)
        with ComparedKernels() as compared:
            for scale in (0.0, 1e-6, 1.0, math.inf, math.nan):
                torch.linalg.matrix_exp(a * scale)
        assert compared.counts["aten.linalg_matrix_exp.default"] == 5
    with ComparedKernels() as compared:
        torch.linalg.matrix_exp(-20 * torch.randn(4, 4, dtype=torch.float64))
    assert compared.counts["aten.linalg_matrix_exp.default"] == 1


SHAPES = ((1, 1), (3, 3), (2, 4, 6), (6, 4), (0, 3), (3, 0), (0, 2, 2), (2, 40, 30))


def test_singular_vectors_are_orthonormal_and_give_the_matrix() -> None:
    torch.manual_seed(0)
    for shape in SHAPES:
        for dtype in DTYPES:
            a = torch.randn(shape, dtype=dtype)
            for full in (False, True):
                like = torch.linalg.svd(a, full_matrices=full)
                u, s, vh = call_kernel(aten._linalg_svd.default, (a, full), {}, like)
                torch.testing.assert_close(s, like.S)
                _assert_orthonormal(u)
                _assert_orthonormal(vh.mT)
                count = s.shape[-1]
                torch.testing.assert_close(
                    (u[..., :count] * s[..., None, :]) @ vh[..., :count, :], a
                )
                assert bool((vector_signs.signs(u) == 1).all())


def test_singular_vectors_of_small_matrices_of_any_condition() -> None:
    """Those of float32 are found by squares where these keep enough digits."""
    torch.manual_seed(0)
    for rows, columns in ((6, 6), (9, 5), (5, 9), (32, 32), (33, 33)):
        size = min(rows, columns)
        left = torch.linalg.qr(torch.randn(20, rows, size, dtype=torch.float64)).Q
        right = torch.linalg.qr(torch.randn(20, columns, size, dtype=torch.float64)).Q
        for smallest in (1.0, 1e-2, 1e-3, 1e-4, 1e-8, 0.0):
            values = torch.linspace(1, smallest, size, dtype=torch.float64)
            a = (left * (1e18 * values) @ right.mT).float()
            u, s, vh = call_kernel(
                aten._linalg_svd.default, (a,), {}, torch.linalg.svd(a, full_matrices=False)
            )
            torch.testing.assert_close(
                s, 1e18 * values.float().expand(20, -1), rtol=1e-6, atol=1e12
            )
            _assert_orthonormal(u)
            _assert_orthonormal(vh.mT)
            torch.testing.assert_close(u * s[:, None] @ vh, a, rtol=0, atol=1e-6 * 1e18)
            only = call_kernel(
                aten._linalg_svd.default, (a, False, False), {}, aten._linalg_svd(a, False, False)
            )
            torch.testing.assert_close(only[1], s, rtol=1e-6, atol=1e12)


LEAST_SQUARES = ((1, 1), (3, 3), (6, 4), (4, 6), (2, 5, 3), (3, 1, 2, 7), (20, 10, 10), (40, 30))


def _equations(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    a = torch.randn(shape, dtype=dtype) + 9 * torch.eye(*shape[-2:], dtype=dtype)
    return a, torch.randn(*shape[:-1], 2, dtype=dtype)


def test_least_squares_of_full_rank() -> None:
    torch.manual_seed(0)
    for dtype in DTYPES:
        for shape in LEAST_SQUARES:
            a, b = _equations(shape, dtype)
            with ComparedKernels(SINGLE if dtype == torch.float32 else None) as compared:
                torch.linalg.lstsq(a, b)
                torch.linalg.lstsq(a, b[..., 0].contiguous(), rcond=1e-4)
                torch.linalg.lstsq(a, b, driver="gelsy")
            assert compared.counts["aten.linalg_lstsq.default"] == 3


def test_least_squares_without_full_rank_have_the_shortest_solution() -> None:
    """PyTorch's own rank is too small in some calls: it does not say which columns are free."""
    operator = aten.linalg_lstsq.default
    torch.manual_seed(0)
    for dtype in DTYPES:
        for shape in LEAST_SQUARES[1:]:
            a, b = _equations(shape, dtype)
            a[..., -1] = 2 * a[..., 0] - 3 * a[..., -2] if shape[-1] > 2 else 0
            a[..., -1, :] = a[..., 0, :]
            rank = torch.linalg.matrix_rank(a.double(), rtol=1e-5)
            solution = torch.linalg.pinv(a.double(), rtol=1e-5) @ b.double()
            for ratio in (None, 1e-3):
                found = call_kernel(operator, (a, b, ratio), {}, operator(a, b))
                torch.testing.assert_close(found[0].double(), solution, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(found[2], rank)
            found = call_kernel(operator, (a, b, 1.5), {}, operator(a, b))
            assert bool((found[2] == 1).all())
            found = call_kernel(operator, (a * 0, b), {}, operator(a, b))
            assert not found[0].any()
            assert not found[2].any()


@pytest.mark.parametrize("exponent", [-1000, -600, -520, -160, 160, 520, 600, 1015])
def test_least_squares_of_numbers_of_any_size(exponent: int) -> None:
    torch.manual_seed(0)
    a = torch.randn(4, 3, dtype=torch.float64)
    b = torch.randn(4, 2, dtype=torch.float64) * 2.0 ** min(0, exponent)
    operator, scaled = aten.linalg_lstsq.default, a * 2.0**exponent
    found = call_kernel(operator, (scaled, b), {}, operator(a, b))
    right = torch.linalg.pinv(scaled / 2.0**exponent) @ b * 2.0 ** (-exponent)
    torch.testing.assert_close(found[0], right, rtol=1e-9, atol=0)
    assert found[2] == 3


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_any_ratio_of_singular_values_may_be_asked_for(ratio: float) -> None:
    a, b = torch.eye(3, dtype=torch.float64) + 1, torch.ones(3, 1, dtype=torch.float64)
    operator = aten.linalg_lstsq.default
    found = call_kernel(operator, (a, b, ratio), {}, operator(a, b))
    assert found[2] == (3 if ratio <= 0 else 1)


def test_least_squares_without_elements_and_of_broadcast_batches() -> None:
    a, b = torch.randn(4, 5, 3), torch.randn(1, 5, 2)
    with ComparedKernels(SINGLE) as compared:
        torch.linalg.lstsq(a, b)
        torch.linalg.lstsq(a[:1].contiguous(), torch.randn(3, 5, 2))
        torch.linalg.lstsq(a.reshape(2, 2, 5, 3)[:, :1].contiguous(), torch.randn(2, 3, 5, 2))
        torch.linalg.lstsq(a[:, :0].contiguous(), b[:, :0].contiguous())
        torch.linalg.lstsq(a[..., :0].contiguous(), b)
        torch.linalg.lstsq(a[:0], a[:0])
    assert compared.counts["aten.linalg_lstsq.default"] == 6


def test_least_squares_that_do_not_fit_are_refused() -> None:
    operator, a, b = aten.linalg_lstsq.default, torch.randn(4, 3), torch.randn(4, 2)
    like = torch.linalg.lstsq(a, b)
    for arguments, message in (
        ((a, b[:3]), "rows"),
        ((a.expand(3, 4, 3).contiguous(), b.expand(2, 4, 2).contiguous()), "batches of shapes"),
        ((a, b.double()), "float64"),
        ((a * math.nan, b), "NaN"),
        ((a, b * math.nan), "NaN"),
    ):
        with pytest.raises(Error, match=message):
            call_kernel(operator, arguments, {}, like)
    with pytest.raises(Error, match="driver"):
        call_kernel(operator, (a, b), {"driver": "gelsd"}, like)


def test_eigenvectors_are_orthonormal_and_those_of_their_eigenvalues() -> None:
    torch.manual_seed(0)
    for size in (1, 2, 5, 40, 0):
        for dtype in DTYPES:
            for triangle in ("L", "U"):
                a = torch.randn(3, size, size, dtype=dtype)
                like = torch.linalg.eigh(a, triangle)
                w, v = call_kernel(aten._linalg_eigh.default, (a, triangle), {}, like)
                torch.testing.assert_close(w, like.eigenvalues)
                _assert_orthonormal(v)
                part = a.tril() if triangle == "L" else a.triu()
                whole = part + part.mT - torch.diag_embed(part.diagonal(dim1=-2, dim2=-1))
                torch.testing.assert_close(whole @ v, v * w[..., None, :], atol=1e-4, rtol=1e-4)
                assert bool((vector_signs.signs(v) == 1).all())


def test_eager_vectors_have_the_same_signs_while_a_module_is_exported() -> None:
    torch.manual_seed(0)
    a = torch.randn(20, 5, 3, dtype=torch.float64)
    symmetric = torch.stack([torch.tensor([[2.0, 1.0], [1.0, 2.0]]), torch.eye(2).cumsum(0)])
    with vector_signs.chosen(), ComparedKernels() as compared:
        torch.linalg.svd(a, full_matrices=False)
        torch.linalg.svd(a[:, :4], full_matrices=True)
        torch.linalg.eigh(a.mT @ a)
        torch.linalg.eigh(symmetric)
        torch.linalg.eigvalsh(a.mT @ a)
        torch.linalg.svdvals(a)
    assert compared.counts["aten._linalg_svd.default"] == 3
    assert compared.counts["aten._linalg_eigh.default"] == 3


def test_a_matrix_with_nan_has_no_singular_values_and_one_with_infinities_has_nan() -> None:
    a, svd = torch.eye(3), aten._linalg_svd.default
    like = svd(a)
    a[1, 1] = math.inf
    assert all(bool(each.isnan().all()) for each in call_kernel(svd, (a,), {}, like))
    a[1, 1] = math.nan
    with pytest.raises(Error, match="failed to converge"):
        call_kernel(svd, (a,), {}, like)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_matrix_that_is_not_finite_has_no_eigenvalues(number: float) -> None:
    a = torch.eye(3) + 1
    like = torch.linalg.eigh(a)
    a[1, 1] = number
    with pytest.raises(Error, match="failed to converge"):
        call_kernel(aten._linalg_eigh.default, (a,), {}, like)


@pytest.mark.parametrize(("triangle", "row", "column"), [("L", 0, 1), ("U", 1, 0)])
def test_what_lies_in_the_other_triangle_is_not_read(triangle: str, row: int, column: int) -> None:
    a = torch.diag(torch.tensor([1.0, 2.0, 3.0]))
    like = torch.linalg.eigh(a)
    for number in (math.nan, math.inf):
        a[row, column] = number
        w, v = call_kernel(aten._linalg_eigh.default, (a, triangle), {}, like)
        torch.testing.assert_close((w, v), (like.eigenvalues, like.eigenvectors))


def test_the_inverse_by_a_singular_factor_is_refused() -> None:
    factors = torch.stack([torch.eye(2), torch.tensor([[1.0, 0.0], [2.0, 0.0]])])
    operator = aten.cholesky_inverse.default
    with pytest.raises(RuntimeError, match=r"element 1\): The diagonal element 2 is zero"):
        operator(factors)
    with pytest.raises(Error, match=r"element 1\): The diagonal element 2 is zero"):
        call_kernel(operator, (factors,), {}, (factors,))
    factors[1, 1, 1] = math.nan
    with ComparedKernels() as compared:
        operator(factors)
    assert compared.counts["aten.cholesky_inverse.default"] == 1


def test_pivots_that_are_no_rows_are_refused() -> None:
    a, b = torch.eye(3), torch.ones(3, 1)
    for pivots in ([1, 2, 4], [0, 2, 3], [1, 2, -3], [-1, 1, 3], [-2, -2, -2]):
        rows = torch.tensor(pivots, dtype=torch.int32)
        with pytest.raises(Error, match="pivots"):
            call_kernel(aten.linalg_ldl_solve.default, (a, rows, b), {}, [b])
        with pytest.raises(Error, match="pivots"):
            call_kernel(aten.linalg_lu_solve.default, (a, rows, b), {}, [b])


def test_results_that_lie_where_pivots_do_are_refused() -> None:
    a, memory = torch.randn(2, 3, 3), torch.zeros(2, 3, 3, dtype=torch.int32)
    memory[:] = torch.tensor([2, 3, 3], dtype=torch.int32)
    pivots, out = memory.view(-1)[:6].view(2, 3), memory.view(torch.float32)
    info = torch.zeros(2, dtype=torch.int32)
    kept = memory.clone()
    for name, arguments, results in (
        ("linalg_lu_solve.out", [a, pivots, a, True, False, out], 1),
        ("linalg_ldl_solve.out", [a, pivots, a, False, out], 1),
        ("lu_unpack.out", [a, pivots, True, True, out, a.clone(), a.clone()], 3),
        ("lu_unpack.out", [a, pivots, True, True, a.clone(), out, a.clone()], 3),
        ("lu_unpack.out", [a, pivots, True, True, a.clone(), a.clone(), out], 3),
        ("_linalg_solve_ex.result", [a, a, True, False, out, a.clone(), pivots, info], 4),
        ("_linalg_solve_ex.result", [a, a, True, False, a.clone(), out, pivots, info], 4),
    ):
        with pytest.raises(Error, match="lies where pivots do"):
            _core.call_operator(f"aten::{name}", arguments, results)
        assert memory.equal(kept), name


def test_matrices_that_do_not_fit_are_refused() -> None:
    square, wide = torch.eye(3), torch.ones(2, 3)
    with pytest.raises(Error, match="square"):
        call_kernel(
            aten.linalg_inv_ex.default, (wide,), {}, [wide, torch.zeros((), dtype=torch.int32)]
        )
    with pytest.raises(Error, match="sizes"):
        call_kernel(aten.cholesky_solve.default, (wide, square), {}, [wide])
    with pytest.raises(Error, match="float32 or float64"):
        call_kernel(aten.linalg_matrix_exp.default, (square.half(),), {}, [square.half()])


def _assert_orthonormal(columns: Tensor) -> None:
    right = torch.eye(columns.shape[-1], dtype=columns.dtype).expand(*columns.shape[:-2], -1, -1)
    torch.testing.assert_close(columns.mT @ columns, right)


def test_factors_of_a_matrix_that_begins_with_minus_zero() -> None:
    with ComparedKernels() as compared:
        aten.linalg_qr(torch.tensor([[-0.0, 1.0], [1.0, 0.0]]))
        aten.geqrf(torch.tensor([[-0.0], [1.0]]))
    assert sum(compared.counts.values()) == 2


@pytest.mark.parametrize(
    ("operator", "others"),
    [
        (aten.linalg_inv_ex.default, {}),
        (aten.linalg_cholesky_ex.default, {}),
        (aten.linalg_lu_factor_ex.default, {}),
        (aten.linalg_ldl_factor_ex.default, {}),
        (aten._linalg_solve_ex.default, {"B": torch.ones(2, 1)}),
    ],
)
def test_what_cannot_be_factored_is_an_error_where_that_is_asked_for(
    operator: torch._ops.OpOverload, others: dict[str, Tensor]
) -> None:
    singular = torch.tensor([[0.0, 0.0], [0.0, -1.0]])
    like = operator(singular, *others.values())
    call_kernel(operator, (singular, *others.values()), {}, like)
    with pytest.raises(RuntimeError):
        operator(singular, *others.values(), check_errors=True)
    with pytest.raises(Error, match="matrix 0 has no such factors"):
        call_kernel(operator, (singular, *others.values()), {"check_errors": True}, like)


def test_coefficients_are_copied_where_nothing_is_solved() -> None:
    with ComparedKernels() as compared:
        aten.triangular_solve(torch.zeros(1, 0), torch.tensor([[2.8]]))
        aten.triangular_solve(torch.zeros(3, 2, 0), torch.randn(2, 2))
    assert compared.counts == {"aten.triangular_solve.default": 2}


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_exponential_of_a_matrix_of_one_element(dtype: torch.dtype) -> None:
    numbers = torch.tensor([0.0, 1.5, -30.0, 90.0, 800.0, math.inf, -math.inf, math.nan])
    with ComparedKernels() as compared:
        torch.linalg.matrix_exp(numbers.to(dtype).reshape(-1, 1, 1))
        for number in numbers.to(dtype):
            torch.linalg.matrix_exp(number.reshape(1, 1))
    assert compared.counts == {"aten.linalg_matrix_exp.default": 1 + len(numbers)}


def test_a_triangle_is_named_by_one_of_four_letters() -> None:
    operator = aten._linalg_eigh.default
    a = torch.tensor([[2.0, 1.0], [0.5, 3.0]])
    for triangle in "LlUu":
        like = operator(a, triangle)
        values, _ = call_kernel(operator, (a, triangle), {}, like)
        torch.testing.assert_close(values, like[0])
    for triangle in ("X", "", "Lower", "UL"):
        with pytest.raises(RuntimeError, match="Expected UPLO"):
            operator(a, triangle)
        with pytest.raises(Error, match=f"UPLO is '{triangle}'"):
            call_kernel(operator, (a, triangle), {}, like)


ODD_NUMBERS = (math.nan, math.inf, -math.inf)


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_reflections_with_an_odd_number_change_their_own_columns_alone(odd: float) -> None:
    torch.manual_seed(0)
    with ComparedKernels() as compared:
        for rows, columns, count in ((1, 1, 1), (3, 2, 2), (4, 4, 3), (6, 3, 1)):
            vectors = torch.randn(rows, columns, dtype=torch.float64)
            scales = torch.randn(count, dtype=torch.float64)
            for place in range(vectors.numel()):
                changed = vectors.clone()
                changed.view(-1)[place] = odd
                aten.linalg_householder_product(changed, scales)
            for place in range(count):
                changed = scales.clone()
                changed[place] = odd
                aten.linalg_householder_product(vectors, changed)
    assert compared.counts == {"aten.linalg_householder_product.default": 48}


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_symmetric_factors_of_a_matrix_with_an_odd_number(odd: float) -> None:
    torch.manual_seed(0)
    calls = 0
    with ComparedKernels() as compared:
        for size in (1, 2, 3, 5):
            a = torch.randn(size, size, dtype=torch.float64)
            a = a + a.mT
            for i in range(size):
                # What PyTorch's library does with a NaN beside the diagonal is not known.
                for j in range(i, i + 1 if math.isnan(odd) else size):
                    changed = a.clone()
                    changed[i, j] = changed[j, i] = odd
                    torch.linalg.ldl_factor_ex(changed)
                    calls += 1
    assert compared.counts == {"aten.linalg_ldl_factor_ex.default": calls}
