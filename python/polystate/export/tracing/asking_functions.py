"""PyTorch's functions that read values of tensors while they compute, written without that.

A trace has no values. ``cov`` asks whether its divisor is positive, and ``gaussian_nll_loss``
whether its variances are; ``equal`` returns a bool of Python; ``linalg.lstsq`` has residuals for
some values alone; ``combinations`` counts what it selects; and the indices of a triangle are filled
in one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

_LeastSquares: Any = torch.return_types.linalg_lstsq  # type: ignore[attr-defined]


def _data(input: Tensor) -> Tensor:
    return input.detach()


def _equal(input: Tensor, other: Tensor) -> Any:
    if input.dtype != other.dtype or _are_constants(input, other):
        return NotImplemented
    return input.shape == other.shape and (input == other).all().item()


def _allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    if _are_constants(input, other):
        return NotImplemented
    return torch.isclose(input, other, rtol, atol, equal_nan).all().item()


def _are_constants(*tensors: Tensor) -> bool:
    """Whether a trace knows the values of these tensors, so that PyTorch computes with them."""
    return not any(isinstance(tensor, FakeTensor) for tensor in tensors)


def _cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Any:
    """Take rows as variables. Too few observations give a divisor of 0, as in PyTorch."""
    if input.dim() > 2 or input.dtype == torch.bool:
        return NotImplemented
    rows = input if input.dim() > 1 else input.reshape(1, -1)
    weights = None
    for given, name in ((fweights, "fweights"), (aweights, "aweights")):
        if given is not None:
            torch._assert_async((given >= 0).all(), f"cov: a negative number in {name}")
            weights = given if weights is None else weights * given
    if weights is None:
        total: Any = rows.shape[1]
        sums = rows.sum(1)
        larger: Any = torch.sym_max
        divisor = larger(total - correction, 0)
    else:
        total = weights.sum()
        torch._assert_async(total != 0, "cov: the weights sum to zero")
        sums = (rows * weights).sum(1)
        lost: Any = correction
        if correction != 0 and aweights is not None:
            lost = correction * (weights * aweights).sum() / total
        divisor = (total - lost).clamp(min=0)
    centred = rows - (sums / total).unsqueeze(1)
    weighted = centred if weights is None else centred * weights
    return ((centred @ weighted.mH) / divisor).squeeze()


def _corrcoef(input: Tensor) -> Any:
    found = _cov(input)
    if found is NotImplemented:
        return found
    if found.dim() == 0:
        return found / found
    deviations = found.diagonal().real.sqrt() if found.is_complex() else found.diagonal().sqrt()
    found = found / deviations.unsqueeze(1) / deviations
    return found if found.is_complex() else found.clamp(-1, 1)


def _lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """Solve by singular values. LAPACK's drivers differ in what they return beside the solution.

    Calls of PyTorch's default driver, ``gelsy``, are not written out: its operator has a kernel.
    """
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsd", "gelss", "gelsy"):
        return NotImplemented
    if driver == "gelsy" and not input.is_complex():
        return NotImplemented
    is_vector = b.dim() == input.dim() - 1 and b.shape == input.shape[:-1]
    right = b.unsqueeze(-1) if is_vector else b
    rows, columns = input.shape[-2:]
    left, sizes, axes = torch.linalg.svd(input, full_matrices=False)
    if rcond is None:
        larger: Any = torch.sym_max
        rcond = torch.finfo(input.dtype).eps * larger(rows, columns)
    # A matrix without elements has no singular values, and so no largest one.
    is_empty = isinstance(sizes.shape[-1], int) and sizes.shape[-1] == 0
    counts = sizes > (0.0 if is_empty else rcond * sizes.amax(-1, keepdim=True))
    if driver == "gels":
        torch._assert_async(counts.all(), "lstsq: a matrix has no full rank")
    inverses = torch.where(counts, sizes.reciprocal(), 0.0).to(input.dtype)
    solution = axes.mH @ (inverses.unsqueeze(-1) * (left.mH @ right))
    rank = counts.sum(-1)
    residuals = sizes.new_zeros(0)
    if rows > columns and driver != "gelsy":
        if driver != "gels":
            torch._assert_async((rank == columns).all(), "lstsq: a matrix has no full rank")
        residuals = (right - input @ solution).abs().square().sum(-2)
    if is_vector:
        solution = solution.squeeze(-1)
    return _LeastSquares(
        (
            solution,
            residuals,
            rank if driver != "gels" else rank.new_zeros(0),
            sizes if driver in ("gelsd", "gelss") else sizes.new_zeros(0),
        )
    )


def _gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    if not isinstance(var, Tensor) or reduction not in ("none", "mean", "sum"):
        return NotImplemented
    if var.dim() != input.dim():
        var = var.unsqueeze(-1)
    torch._assert_async(~(var < 0).any(), "gaussian_nll_loss: a variance is negative")
    variances = var.clamp(min=eps)
    loss = 0.5 * (variances.log() + (input - target).square() / variances)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else getattr(loss, reduction)()


def _is_all_true(input: Tensor) -> bool:
    """Assert it at each call: distributions ask by it whether their arguments are valid."""
    torch._assert_async(input.all(), "a distribution's arguments or values are outside its support")
    return True


def _combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Any:
    """Combine elements whose number is fixed; the combinations of no elements are empty."""
    if r < 0 or input.dim() != 1:
        return NotImplemented
    if r == 0:
        return input.new_zeros(0)
    count = input.shape[0]
    if isinstance(count, torch.SymInt):
        return NotImplemented
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = torch.tensor(list(choose(range(count), r)), dtype=torch.int64).reshape(-1, r)
    return input[chosen]


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """Reduce segments by lengths that make up all elements, after checks that they do.

    PyTorch reads what offsets say, and lengths where it is told to, without a check, and adds up
    lengths as they wrap around. Where there are both, offsets count.
    """
    size, last = data.shape[axis], -1
    given = lengths if offsets is None else offsets
    if given is None or indices is not None:
        return NotImplemented
    torch._assert_async(((given >= 0) & (given <= size)).all(), "segments outside of the data")
    given = given.clamp(0, size)  # where the check does not stop a call at once
    if offsets is not None:
        torch._assert_async((given.diff(dim=last) >= 0).all(), "segments of negative lengths")
        parts = (given[..., :1], given.diff(dim=last).clamp(min=0), size - given[..., last:])
    else:
        left = size - given.sum(last, keepdim=True).to(given.dtype)
        are_enough = left >= 0 if unsafe else left == 0
        torch._assert_async(are_enough.all(), "lengths of segments are not those of the data")
        parts = (given[..., :0], given, left)
    whole = torch.cat(parts, last)
    found = torch.segment_reduce(data, reduce, lengths=whole, axis=axis, initial=initial)
    return found.narrow(axis, parts[0].shape[last], parts[1].shape[last])


def _of_a_triangle(places: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rows and columns of a triangle's elements as constants, if its size is known."""

    def indices(
        row: Any, col: Any, offset: int = 0, *, dtype: torch.dtype | None = torch.int64
    ) -> Any:
        if not all(type(each) is int for each in (row, col, offset)):
            return NotImplemented
        return torch.tensor(np.stack(places(row, offset, col)), dtype=dtype or torch.int64)

    return indices


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.allclose: _allclose,
    torch._is_all_true: _is_all_true,
    torch.combinations: _combinations,
    torch.corrcoef: _corrcoef,
    torch.cov: _cov,
    torch.equal: _equal,
    torch.linalg.lstsq: _lstsq,
    torch.ops.aten.segment_reduce.default: segment_reduce,
    torch.segment_reduce: segment_reduce,
    torch.nn.functional.gaussian_nll_loss: _gaussian_nll_loss,
    torch.tril_indices: _of_a_triangle(np.tril_indices),
    torch.triu_indices: _of_a_triangle(np.triu_indices),
    Tensor.allclose: _allclose,
    Tensor.data.__get__: _data,  # type: ignore[attr-defined]
    Tensor.corrcoef: _corrcoef,
    Tensor.cov: _cov,
    Tensor.equal: _equal,
}
