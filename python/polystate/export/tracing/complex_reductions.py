"""Sums, products and norms of many complex numbers, as functions of their parts."""
# ruff: noqa: D103

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.complex_comparisons import is_true
from polystate.export.tracing.complex_elements import cat
from polystate.export.tracing.complex_parts import Complex, learned


@learned
def var(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return z.real.var(*args, **kwargs) + z.imag.var(*args, **kwargs)


@learned
def std(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return var(z, *args, **kwargs).sqrt()


@learned
def var_mean(z: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Complex]:
    x, y = torch.var_mean(z.real, *args, **kwargs), torch.var_mean(z.imag, *args, **kwargs)
    return x[0] + y[0], Complex(x[1], y[1])


@learned
def std_mean(z: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Complex]:
    variance, average = var_mean(z, *args, **kwargs)
    return variance.sqrt(), average


@learned
def prod(z: Complex, dim: int | None = None, keepdim: bool = False, **_: Any) -> Complex:
    """By halves, each of which is multiplied by the other."""
    if z.dim() == 0:
        return z
    if dim is None:
        z, dim = z.flatten(), 0
    z = z.movedim(dim, 0)
    if z.shape[0] == 0:
        z = Complex(torch.ones_like(z.real.sum(0)), torch.zeros_like(z.real.sum(0))).unsqueeze(0)
    while (n := z.shape[0]) > 1:
        product = z[: n // 2] * z[n // 2 : n // 2 * 2]
        z = cat([product, z[n // 2 * 2 :]]) if n % 2 else product
    return z.movedim(0, dim) if keepdim else z[0]


@learned
def cumprod(z: Complex, dim: int, **_: Any) -> Any:
    """By steps that double how many factors are multiplied already."""
    if z.dim() == 0:
        return z
    z = z.movedim(dim, 0)
    step = 1
    while step < z.shape[0]:
        z = cat([z[:step], z[step:] * z[:-step]])
        step *= 2
    return z.movedim(0, dim)


@learned
def vector_norm(z: Complex, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    return torch.linalg.vector_norm(z.abs(), *args, **kwargs)


Complex.functions["linalg_vector_norm"] = vector_norm


@learned
def norm(z: Complex, p: Any = "fro", dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    if p == "nuc":
        raise TypeError("an export has not learned the nuclear norm of complex numbers")
    return torch.norm(z.abs(), p, dim, keepdim)


@learned
def linalg_norm(z: Complex, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    is_of_matrices = (
        z.dim() if dim is None else len(dim) if isinstance(dim, list | tuple) else 1
    ) == 2
    if ord is not None and is_of_matrices and ord in ("nuc", 2, -2):
        raise TypeError(f"an export has not learned the norm {ord!r} of complex matrices")
    return torch.linalg.norm(z.abs(), ord, dim, keepdim)


@learned
def linalg_matrix_norm(
    z: Complex, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False
) -> Any:
    return linalg_norm(z, ord, dim, keepdim)


@learned
def dist(z: Any, other: Any, p: Any = 2) -> Any:
    return torch.linalg.vector_norm(Complex.of(z).sub(other).abs(), p)


@learned
def normalize(z: Complex, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Complex:
    return z.div(vector_norm(z, p, dim, True).clamp_min(eps))


@learned
def count_nonzero(z: Complex, dim: Any = None) -> Tensor:
    return torch.count_nonzero(is_true(z), dim)


@learned
def _all(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return is_true(z).all(*args, **kwargs)


@learned
def _any(z: Complex, *args: Any, **kwargs: Any) -> Tensor:
    return is_true(z).any(*args, **kwargs)
