"""The signs of eigenvectors and singular vectors, which the problem leaves open.

In each vector, the first element whose size is at least nine tenths of the largest is positive. (If
the largest element itself decided, rounding would choose between equal ones, as in (1, -1).) For a
pair of singular vectors the left one decides. Where a full decomposition has more vectors of one
kind than singular values, each of these decides for itself.

The runtime's kernels give these signs; here PyTorch's own do, wherever a module runs in an export.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

aten = torch.ops.aten

NEARLY_LARGEST = 0.9


@contextlib.contextmanager
def chosen() -> Iterator[None]:
    """Have PyTorch's operators give the chosen signs within the block."""
    with torch.library._scoped_library("aten", "IMPL") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that its own are replaced
        library.impl("_linalg_eigh", _eigh, "CPU")
        library.impl("_linalg_svd", _svd, "CPU")
        yield


def _eigh(x: Tensor, uplo: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    values, vectors = x.new_empty(0), x.new_empty(0)
    if x.is_complex():
        values = values.real.clone()
    fill = aten._linalg_eigh.eigenvalues
    fill(x, uplo, compute_v, eigenvalues=values, eigenvectors=vectors)
    if compute_v and not x.is_complex():
        vectors.mul_(signs(vectors))
    return values, vectors


def _svd(
    x: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    left, values, right = x.new_empty(0), x.new_empty(0), x.new_empty(0)
    if x.is_complex():
        values = values.real.clone()
    fill = aten._linalg_svd.U
    fill(x, full_matrices, compute_uv, driver=driver, U=left, S=values, Vh=right)
    if compute_uv and not x.is_complex():
        of_left, of_right = singular_signs(left, values.shape[-1], right)
        left.mul_(of_left)
        right.mul_(of_right.mT)
    return left, values, right


def singular_signs(left: Tensor, count: int, right: Tensor) -> tuple[Tensor, Tensor]:
    """Give 1 or -1 for each of the vectors of U [..., m, i] and Vh [..., j, n].

    As [..., 1, i] and [..., 1, j].
    """
    of_left, of_right = signs(left), signs(right.mT)
    return of_left, torch.cat([of_left[..., :count], of_right[..., count:]], -1)


def signs(vectors: Tensor) -> Tensor:
    """Give 1 or -1 for each of the vectors [..., n, i], as [..., 1, i]."""
    if vectors.shape[-2] == 0:
        return vectors.new_ones((*vectors.shape[:-2], 1, vectors.shape[-1]))
    sizes = vectors.abs()
    is_large = sizes >= NEARLY_LARGEST * sizes.amax(-2, keepdim=True)
    first = is_large.to(torch.int32).argmax(-2, keepdim=True)
    is_negative = vectors.gather(-2, first) < 0
    return 1 - 2 * is_negative.to(vectors.dtype)
