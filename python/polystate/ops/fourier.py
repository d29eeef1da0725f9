"""Fourier transforms of one dimension, of complex numbers as their real and imaginary parts.

``fft(real, imag, dim, inverse, normalization)`` transforms complex numbers; without ``imag`` they
are real. ``real_fft(x, dim, normalization)`` gives the first half of the spectrum of real numbers,
``size // 2 + 1`` elements, and ``inverse_real_fft(real, imag, dim, size, normalization)`` the
``size`` real numbers that have such a spectrum.

All are float32 or float64. ``dim`` is not negative. A complex result is [2, ...]: its real parts,
then its imaginary ones. The normalization is PyTorch's number: 0 for none, 1 for a division by the
root of the size, 2 by the size.
"""

from __future__ import annotations

import torch
from torch import Tensor

from polystate.ops.library import define_with_out

_aten = torch.ops.aten


def _parts(x: Tensor) -> Tensor:
    return torch.stack([x.real, x.imag])


def _fft(real: Tensor, imag: Tensor | None, dim: int, inverse: bool, normalization: int) -> Tensor:
    x = torch.complex(real, torch.zeros_like(real) if imag is None else imag)
    return _parts(_aten._fft_c2c(x, [dim], normalization, not inverse))


def _fake_fft(
    real: Tensor, imag: Tensor | None, dim: int, inverse: bool, normalization: int
) -> Tensor:
    return real.new_empty((2, *real.shape))


def _real_fft(x: Tensor, dim: int, normalization: int) -> Tensor:
    return _parts(_aten._fft_r2c(x, [dim], normalization, onesided=True))


def _fake_real_fft(x: Tensor, dim: int, normalization: int) -> Tensor:
    shape = [*x.shape]
    shape[dim] = shape[dim] // 2 + 1
    return x.new_empty((2, *shape))


def _inverse_real_fft(
    real: Tensor, imag: Tensor, dim: int, size: int, normalization: int
) -> Tensor:
    x: Tensor = _aten._fft_c2r(torch.complex(real, imag), [dim], normalization, size)
    return x.contiguous()


def _fake_inverse_real_fft(
    real: Tensor, imag: Tensor, dim: int, size: int, normalization: int
) -> Tensor:
    shape = [*real.shape]
    shape[dim] = size
    return real.new_empty(shape)


define_with_out(
    "fft",
    "Tensor real, Tensor? imag, int dim, bool inverse, int normalization",
    _fft,
    _fake_fft,
)
define_with_out("real_fft", "Tensor x, int dim, int normalization", _real_fft, _fake_real_fft)
define_with_out(
    "inverse_real_fft",
    "Tensor real, Tensor imag, int dim, SymInt size, int normalization",
    _inverse_real_fft,
    _fake_inverse_real_fft,
)
