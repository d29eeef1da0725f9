"""Linear algebra in terms of the operators that have kernels, with what PyTorch raises asserted.

PyTorch's functions factor a matrix and then raise where that failed. A trace has the first half
alone: a check of values that are not there yet does nothing.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._library.simple_registry import singleton
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten

# Why a function fails, by a part of the name that PyTorch gives its check: the first that fits.
_FAILURES = (
    ("inv", "the inversion could not be completed because the input matrix is singular"),
    ("solve", "the solver failed because the input matrix is singular"),
    (
        "cholesky",
        "the factorization could not be completed because the input is not positive-definite",
    ),
    ("lu_factor", "U has a zero on its diagonal, by which a solution would be divided"),
    ("", "the factorization could not be completed"),
)

_COMPOSITE = """
    chain_matmul det inverse linalg_cholesky linalg_cond linalg_det linalg_eigh
    linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_lu_factor linalg_matrix_norm
    linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_slogdet
    linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
    logdet lu_solve matrix_power nuclear_norm orgqr pinverse qr slogdet svd _lu_with_info
"""


def _check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    """Assert that a function succeeded for all matrices."""
    why = next(text for part, text in _FAILURES if part in api_name)
    aten._assert_async.msg((info == 0).all(), f"{api_name}: {why}")


def _cholesky(x: Tensor, upper: bool = False) -> Tensor:
    if statically_known_true(x.numel() == 0):  # of any sizes
        return x.clone()
    factor, info = aten.linalg_cholesky_ex(x, upper=upper)
    _check_errors(info, "cholesky", is_matrix=False)
    return factor  # type: ignore[no-any-return]


def _pinv(
    x: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Any:
    """As PyTorch does it: by the singular values or eigenvalues that are not nearly zero."""
    rows, columns = x.shape[-2:]
    if statically_known_true(rows * columns == 0):
        return x.new_zeros((*x.shape[:-2], columns, rows))
    smallest = torch.finfo(x.dtype).eps * max(rows, columns)
    if rtol is None:
        rtol = torch.full([], smallest, dtype=x.dtype)
        if atol is not None:
            rtol = torch.where(atol > 0, torch.zeros_like(rtol), rtol)
    if atol is None:
        atol = torch.zeros([], dtype=x.dtype)
    if hermitian:
        values, vectors = torch.linalg.eigh(x)
        sizes = values.abs()
        left, right = vectors, vectors
    else:
        left, values, right = torch.linalg.svd(x, full_matrices=False)
        sizes, right = values, right.mH
    most = sizes.amax(-1, keepdim=True)
    least = torch.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * most)
    inverses = torch.where(sizes > least, values.reciprocal(), 0.0).to(x.dtype)
    return (right * inverses.unsqueeze(-2)) @ left.mH


def _composites() -> dict[Any, Callable[..., Any]]:
    """PyTorch's own functions of others, written out before the assertions are looked for."""
    found: dict[Any, Callable[..., Any]] = {}
    for name in _COMPOSITE.split():
        packet = getattr(aten, name)
        for overload in packet.overloads():
            operator = getattr(packet, overload)
            key = torch._C.DispatchKey.CompositeImplicitAutograd
            has_results = not any(argument.is_out for argument in operator._schema.arguments)
            if has_results and torch._C._dispatch_has_kernel_for_dispatch_key(
                operator.name(), "CompositeImplicitAutograd"
            ):
                found[operator] = functools.partial(operator._op_dk, key)
    return found


@contextlib.contextmanager
def checks_are_written_out() -> Iterator[None]:
    """Let PyTorch decompose its check of errors within the block, which it else keeps in order."""
    effect = singleton.find("aten::_linalg_check_errors").effect
    with mock.patch.object(effect, "_effect", None):
        yield


LINEAR_ALGEBRA: dict[Any, Callable[..., Any]] = {
    **_composites(),
    aten._linalg_check_errors.default: _check_errors,
    aten.cholesky.default: _cholesky,
    aten.linalg_pinv.atol_rtol_tensor: _pinv,
}
