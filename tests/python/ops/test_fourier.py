"""The runtime's Fourier transforms give what PyTorch's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import polystate.ops  # noqa: F401  (registers the operators)
from polystate import _core
from polystate.errors import EngineError

operators = torch.ops.polystate

# Products of small factors, primes, and what has large ones.
SIZES = (*range(1, 34), 37, 46, 58, 64, 97, 100, 101, 128, 243, 251, 400, 480, 512, 1000, 1021)
LONG = (2048, 4099, 10007, 16384, 30030, 65521, 65536)


def run(name: str, *arguments: Any) -> tuple[Tensor, Tensor]:
    """The result of the runtime's kernel, and of the eager operator."""
    expected = getattr(operators, name)(*arguments)
    out = torch.full_like(expected, torch.nan)
    shapes = _core.call_operator(f"polystate::{name}.out", [*arguments, out], 1)
    assert list(shapes[0]) == list(expected.shape)
    return out, expected


def assert_near(found: Tensor, expected: Tensor) -> None:
    """Within some roundings of the largest element, which is all that a transform can promise."""
    largest = float(expected.abs().max())
    limit = (1e-6 if expected.dtype == torch.float32 else 4e-15) * largest
    torch.testing.assert_close(found, expected, rtol=0, atol=limit)


def exact(name: str, *arguments: Any) -> np.ndarray:
    """NumPy's transform in 80 bits: with AVX-512, MKL's in 64 is off by 7e-15 of the largest."""
    wide = [x.numpy().astype(np.longdouble) if isinstance(x, Tensor) else x for x in arguments]
    if name == "fft":
        real, imag, dim, inverse, normalization = wide
        numbers, size = real if imag is None else real + 1j * imag, real.shape[dim]
        transform = np.fft.ifft if inverse else np.fft.fft
        found = transform(numbers, axis=dim, norm="forward" if inverse else "backward")
    elif name == "real_fft":
        real, dim, normalization = wide
        found, size = np.fft.rfft(real, axis=dim), real.shape[dim]
    else:
        real, imag, dim, size, normalization = wide
        found = np.fft.irfft(real + 1j * imag, size, axis=dim, norm="forward")
    found = found / (1, np.sqrt(np.longdouble(size)), size)[normalization]
    return np.stack([found.real, found.imag]) if np.iscomplexobj(found) else found


def check(name: str, *arguments: Any) -> None:
    found, like = run(name, *arguments)
    assert_near(found, torch.from_numpy(exact(name, *arguments).astype(like.numpy().dtype)))


def compare(shape: tuple[int, ...], dim: int, dtype: torch.dtype) -> None:
    chance = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, *shape, dtype=dtype, generator=chance)
    for inverse in (False, True):
        check("fft", x, y, dim, inverse, 1)
    check("fft", x, None, dim, False, 0)
    check("real_fft", x, dim, 2)
    real, imag = operators.real_fft(x, dim, 0)
    check("inverse_real_fft", real, imag, dim, shape[dim], 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_transforms_of_many_sizes(dtype: torch.dtype) -> None:
    for size in SIZES:
        for shape, dim in (((3, size), 1), ((2, size, 5), 1)):
            compare(shape, dim, dtype)
        compare((size, 37), 0, dtype)
    for size in LONG:
        compare((size,), 0, dtype)


def test_a_transform_is_its_own_whatever_is_beside_it() -> None:
    for size in (12, 40, 49, 74, 400):
        x = torch.randn(size, 37, generator=torch.Generator().manual_seed(size))
        x[:, 3] = torch.nan
        together, _ = run("real_fft", x, 0, 0)
        rows, _ = run("real_fft", x.T.contiguous(), 1, 0)
        assert torch.equal(together[..., 0], run("real_fft", x[:, 0].contiguous(), 0, 0)[0])
        torch.testing.assert_close(together, rows.mT, rtol=0, atol=0, equal_nan=True)
        assert together.isnan().sum() == 2 * (size // 2 + 1)


def test_imaginary_parts_of_what_is_real_are_not_read() -> None:
    for size in (6, 7):
        real, imag = torch.ones(2, size // 2 + 1)
        imag[0] = torch.nan
        if size % 2 == 0:
            imag[-1] = torch.nan
        found, _ = run("inverse_real_fft", real, imag, 0, size, 0)
        clean, _ = run("inverse_real_fft", real, imag.nan_to_num(), 0, size, 0)
        assert torch.equal(found, clean)


def test_no_sequences() -> None:
    x = torch.ones(0, 4)
    for name, arguments in (("fft", (x, x, 1, False, 0)), ("real_fft", (x, 1, 0))):
        shapes = _core.call_operator(f"polystate::{name}.out", [*arguments, torch.ones(2, 0, 4)], 1)
        assert list(shapes[0]) == [2, 0, 4 if name == "fft" else 3]


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("fft", (torch.ones(4), None, 1, False, 0), "dimension 1 of a tensor of 1"),
        ("fft", (torch.ones(4), None, -1, False, 0), "dimension -1 of a tensor of 1"),
        ("fft", (torch.ones(4), torch.ones(5), 0, False, 0), "imag is not as real is"),
        ("fft", (torch.ones(4), torch.ones(4).double(), 0, False, 0), "imag is not as real is"),
        ("fft", (torch.ones(4, dtype=torch.int64), None, 0, False, 0), "not of float32 or float64"),
        ("fft", (torch.ones(4), None, 0, False, 3), "normalization is 3"),
        ("fft", (torch.ones(3, 0), None, 1, False, 0), "no elements to transform"),
        ("real_fft", (torch.ones(0), 0, 0), "no elements to transform"),
        ("inverse_real_fft", (torch.ones(4), torch.ones(4), 0, 8, 0), "4 elements for the spectr"),
        ("inverse_real_fft", (torch.ones(1), torch.ones(1), 0, 0, 0), "1 elements for the spectr"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(EngineError, match=why):
        _core.call_operator(f"polystate::{name}.out", [*arguments, torch.zeros(64)], 1)
