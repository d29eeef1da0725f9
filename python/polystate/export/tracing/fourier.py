"""PyTorch's Fourier transforms, of complex numbers as their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.export.tracing.complex_parts import Complex, is_complex

_operators = torch.ops.polystate

# PyTorch's numbers of normalizations, of a transform and of an inverse one.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_INVERSE = {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _complex_1d(x: Any, dim: int, inverse: bool, normalization: int) -> Complex:
    real, imag = (x.real, x.imag) if isinstance(x, Complex) else (x, None)
    result = _operators.fft(real, imag, dim % real.dim(), inverse, normalization)
    return Complex(result[0], result[1])


def _real_1d(x: Tensor, dim: int, normalization: int) -> Complex:
    result = _operators.real_fft(x, dim % x.dim(), normalization)
    return Complex(result[0], result[1])


def _to_real_1d(x: Any, size: Any, dim: int, normalization: int) -> Tensor:
    x = Complex.of(_resized(x, size // 2 + 1, dim))
    result: Tensor = _operators.inverse_real_fft(x.real, x.imag, dim % x.dim(), size, normalization)
    return result


def _floating(x: Any) -> Any:
    if isinstance(x, Tensor) and is_complex(x):
        return Complex.of(x)
    if isinstance(x, Complex) or x.is_floating_point():
        return x
    return x.to(torch.get_default_dtype())


def _real(name: str, x: Any) -> Tensor:
    if is_complex(x):
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    return _floating(x)  # type: ignore[no-any-return]


def _resized(x: Any, size: Any, dim: int) -> Any:
    """Cut off, or zeros behind, whichever gives a size: where sizes vary, both."""
    if size is None:
        return x
    found = x.shape[dim]
    if isinstance(size, int) and isinstance(found, int):
        if size == found:
            return x
        if size < found:
            return x.narrow(dim, 0, size)
        missing = size - found
    elif torch.fx.experimental.symbolic_shapes.statically_known_true(size == found):
        return x
    else:
        missing = size
    pads = [0] * (2 * (x.dim() - dim % x.dim()))
    pads[-1] = missing
    return functional.pad(x, pads).narrow(dim, 0, size)


def _fft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Complex:
    return _complex_1d(_resized(_floating(x), n, dim), dim, False, _FORWARD[norm])


def _ifft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Complex:
    return _complex_1d(_resized(_floating(x), n, dim), dim, True, _INVERSE[norm])


def _rfft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Complex:
    return _real_1d(_resized(_real("rfft", x), n, dim), dim, _FORWARD[norm])


def _ihfft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Complex:
    return _real_1d(_resized(_real("ihfft", x), n, dim), dim, _INVERSE[norm]).conj()


def _irfft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    x = _floating(x)
    return _to_real_1d(x, 2 * (x.shape[dim] - 1) if n is None else n, dim, _INVERSE[norm])


def _hfft(x: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Tensor:
    x = Complex.of(_floating(x)).conj()
    return _to_real_1d(x, 2 * (x.shape[dim] - 1) if n is None else n, dim, _FORWARD[norm])


def _dims(x: Any, s: Any, dim: Any) -> list[int]:
    if dim is not None:
        return [dim] if isinstance(dim, int) else list(dim)
    return list(range(-len(s), 0)) if s is not None else list(range(x.dim()))


def _sizes(s: Any, dims: Sequence[int]) -> list[Any]:
    """None for a size that stays."""
    sizes = [None] * len(dims) if s is None else [s] if isinstance(s, int) else list(s)
    return [None if size == -1 else size for size in sizes]


def _fftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    return _each(_fft, x, s, dim, norm)


def _ifftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    return _each(_ifft, x, s, dim, norm)


def _each(transform: Callable[..., Any], x: Any, s: Any, dim: Any, norm: str | None) -> Any:
    places = _places(x, s, dim)
    steps = [(transform, place) for place in reversed(places)]
    return _in_turn(x, steps, norm) if places else Complex.of(_floating(x))


def _rfftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    *others, last = _places(x, s, dim)
    return _in_turn(x, [(_rfft, last), *((_fft, place) for place in others)], norm)


def _ihfftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    *others, last = _places(x, s, dim)
    return _in_turn(x, [(_ihfft, last), *((_ifft, place) for place in others)], norm)


def _irfftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    *others, last = _places(x, s, dim)
    return _in_turn(x, [*((_ifft, place) for place in others), (_irfft, last)], norm)


def _hfftn(x: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    *others, last = _places(x, s, dim)
    return _in_turn(x, [*((_fft, place) for place in others), (_hfft, last)], norm)


# A size, None for that of the input, and a dimension.
_Place = tuple[Any, int]


def _places(x: Any, s: Any, dim: Any) -> list[_Place]:
    dims = _dims(x, s, dim)
    return list(zip(_sizes(s, dims), dims, strict=True))


def _in_turn(x: Any, steps: Sequence[tuple[Callable[..., Any], _Place]], norm: str | None) -> Any:
    for transform, place in steps:
        x = transform(x, *place, norm)
    return x


def _in_two(transform: Callable[..., Any]) -> Callable[..., Any]:
    def transform_2d(x: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        return transform(x, s, dim, norm)

    return transform_2d


def _shift(x: Any, dim: Any, back: bool) -> Any:
    dims = [dim] if isinstance(dim, int) else list(range(x.dim()) if dim is None else dim)
    sizes = [x.shape[each] for each in dims]
    return x.roll([(size + 1) // 2 if back else size // 2 for size in sizes], dims)


def _fftfreq(n: Any, d: float = 1.0, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    places = (torch.arange(n) + n // 2) % n - n // 2
    return places.to(dtype or torch.get_default_dtype()) / (n * d)


def _rfftfreq(n: Any, d: float = 1.0, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype()) / (n * d)


def _padded_window(window: Tensor | None, win_length: int, n_fft: int, like: Any) -> Any:
    """The window in the middle of a frame; ones where no window is given."""
    if window is None:
        window = torch.ones(win_length, dtype=like.real.dtype if is_complex(like) else like.dtype)
    left = (n_fft - win_length) // 2
    return functional.pad(window, [left, n_fft - win_length - left])


def _stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    if align_to_window:
        raise TypeError("an export has not learned stft's align_to_window")
    is_of_complex = is_complex(x) or is_complex(window)
    if return_complex is None and not is_of_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    if is_of_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    batch = x if x.dim() == 2 else x.unsqueeze(0)
    if center:
        batch = functional.pad(batch.unsqueeze(0), [n_fft // 2] * 2, pad_mode).squeeze(0)
    frames = batch.unfold(-1, n_fft, hop)
    if window is not None or win_length < n_fft:
        frames = frames * _padded_window(window, win_length, n_fft, batch)
    transform = _fft if is_of_complex or onesided is False else _rfft
    z = transform(frames, norm="ortho" if normalized else None).transpose(1, 2)
    z = z if x.dim() == 2 else z.squeeze(0)
    return z.view_as_real() if return_complex is False else z


def _istft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    z = (x if x.dim() == 3 else x.unsqueeze(0)).transpose(1, 2)
    norm = "ortho" if normalized else None
    frames = _ifft(z, None, -1, norm) if return_complex else _irfft(z, n_fft, -1, norm)
    window = _padded_window(window, win_length, n_fft, z)
    start = n_fft // 2 if center else 0
    expected = n_fft + hop * (frames.shape[1] - 1)
    end = start + length if length is not None else expected - start
    squares = window.square().expand(1, frames.shape[1], n_fft)
    weights = _overlapped(squares, hop)[:, start:end]
    result = _overlapped(frames * window, hop)[:, start:end] / weights
    if length is not None:
        result = _resized(result, length, 1)
    return result if x.dim() == 3 else result.squeeze(0)


def _overlapped(frames: Any, hop: int) -> Any:
    """Sums of frames [batch, frames, size] that begin ``hop`` apart.

    Pieces of that length are added up, each as often as a frame has it.
    """
    size = frames.shape[2]
    pieces = -(-size // hop)
    frames = functional.pad(frames, [0, pieces * hop - size])
    total = None
    for i in range(pieces):
        piece = frames[:, :, i * hop : (i + 1) * hop]
        shifted = functional.pad(piece, [0, 0, i, pieces - 1 - i])
        total = shifted if total is None else total + shifted
    assert total is not None
    length = total.shape[1] * hop - (pieces * hop - size)
    return total.flatten(1)[:, :length]


TRANSFORMS: Mapping[Any, Callable[..., Any]] = {
    torch.fft.fft: _fft,
    torch.fft.ifft: _ifft,
    torch.fft.rfft: _rfft,
    torch.fft.irfft: _irfft,
    torch.fft.hfft: _hfft,
    torch.fft.ihfft: _ihfft,
    torch.fft.fftn: _fftn,
    torch.fft.ifftn: _ifftn,
    torch.fft.rfftn: _rfftn,
    torch.fft.irfftn: _irfftn,
    torch.fft.hfftn: _hfftn,
    torch.fft.ihfftn: _ihfftn,
    torch.fft.fft2: _in_two(_fftn),
    torch.fft.ifft2: _in_two(_ifftn),
    torch.fft.rfft2: _in_two(_rfftn),
    torch.fft.irfft2: _in_two(_irfftn),
    torch.fft.hfft2: _in_two(_hfftn),
    torch.fft.ihfft2: _in_two(_ihfftn),
    torch.fft.fftshift: lambda x, dim=None: _shift(x, dim, False),
    torch.fft.ifftshift: lambda x, dim=None: _shift(x, dim, True),
    torch.fft.fftfreq: _fftfreq,
    torch.fft.rfftfreq: _rfftfreq,
    torch.stft: _stft,
    Tensor.stft: _stft,
    torch.istft: _istft,
    Tensor.istft: _istft,
}
