"""Products and functions of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten


def _addbmm(
    x: Tensor, first: Tensor, second: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """As one product: the matrices of all batches stand side by side."""
    left = first.transpose(0, 1).flatten(1)
    return torch.addmm(x, left, second.flatten(0, 1), beta=beta, alpha=alpha)


def _addmv(x: Tensor, matrix: Tensor, vector: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    if not (x.is_floating_point() or x.is_complex()):
        beta, alpha = int(beta), int(alpha)  # as PyTorch has it
    product = torch.mv(matrix, vector)
    product = product if alpha == 1 else product * alpha
    if beta == 0:  # whatever x has
        return product + torch.zeros_like(x).expand(product.shape)
    return product + (x if beta == 1 else x * beta)


def _bilinear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As a linear layer of the products of each element of x with each of y."""
    products = in_single(x).unsqueeze(-1) * in_single(y).unsqueeze(-2)
    weight = weight.to(products.dtype)
    bias = None if bias is None else bias.to(products.dtype)
    result = torch.nn.functional.linear(products.flatten(-2), weight.flatten(1), bias)
    return result.to(x.dtype)


def _matrix_exp(x: Tensor) -> Any:
    """Computes 16-bit floats in single precision: the kernel takes nothing shorter."""
    if x.dtype.itemsize > 2:
        return NotImplemented
    return aten.linalg_matrix_exp.default(x.float()).to(x.dtype)


OPERATORS: dict[Any, Callable[..., Any]] = {
    aten.addbmm.default: _addbmm,
    aten.addmv.default: _addmv,
    aten.bilinear.default: _bilinear,
    aten.linalg_matrix_exp.default: _matrix_exp,
}
