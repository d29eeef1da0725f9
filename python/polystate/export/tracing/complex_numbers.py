"""Complex numbers inside of a method are traced as their real and imaginary parts.

No engine has complex tensors. Under a trace, what makes a complex tensor of real ones makes one of
these instead, which computes with both parts until it is made real again: rotary embeddings that
multiply by complex numbers export like others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

# Move, repeat, choose or add up elements: they do the same with both parts.
_MOVING = """
    clone contiguous cumsum detach diagonal expand flatten flip getitem index_select mean movedim
    narrow neg permute repeat repeat_interleave reshape roll select squeeze sum t transpose
    unflatten unsqueeze view
"""
_SAME = frozenset(_MOVING.split())


class Complex:
    """A complex tensor as two real ones of one shape and type."""

    def __init__(self, real: Tensor, imag: Tensor) -> None:
        shape = torch.broadcast_shapes(real.shape, imag.shape)  # type: ignore[no-untyped-call]
        self.real, self.imag = real.expand(shape), imag.expand(shape)

    @classmethod
    def of(cls, value: Any) -> Complex:
        """A number or a tensor as a complex one."""
        if isinstance(value, Complex):
            return value
        if isinstance(value, complex):
            return cls(torch.tensor(value.real), torch.tensor(value.imag))
        real = torch.as_tensor(value)
        return cls(real, torch.zeros_like(real))

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        name = function.__name__.strip("_")
        if name in ("cat", "stack", "concat"):
            parts = [cls.of(each) for each in args[0]]
            real = function([part.real for part in parts], *args[1:], **(kwargs or {}))
            return cls(real, function([part.imag for part in parts], *args[1:], **(kwargs or {})))
        first, *rest = args
        if name in ("radd", "rmul", "rsub", "rtruediv", "rdiv"):
            (other,) = rest
            first, rest, name = other, [first], name[1:]
        name = {"truediv": "div", "true_divide": "div", "negative": "neg"}.get(name, name)
        if name in ("real", "imag"):
            return getattr(first, name)
        return getattr(cls.of(first), name)(*rest, **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        if name in _SAME:
            return lambda *args, **kwargs: self._same(name, args, kwargs)
        if name in ("device", "dim", "ndim", "numel", "shape", "size"):
            return getattr(self.real, name)
        raise TypeError(
            f"an export writes complex numbers as their parts, and has not learned '{name}' of them"
        )

    def _same(self, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Complex:
        method = getattr(Tensor, "__getitem__" if name == "getitem" else name)
        return Complex(method(self.real, *args, **kwargs), method(self.imag, *args, **kwargs))

    @property
    def dtype(self) -> torch.dtype:
        """The type that a complex tensor of such parts has."""
        return torch.complex128 if self.real.dtype == torch.float64 else torch.complex64

    def is_complex(self) -> bool:
        """True."""
        return True

    def to(self, *args: Any, **_: Any) -> Self | Complex:
        """Of another type; there is one device."""
        for each in args:
            if isinstance(each, torch.dtype):
                real = torch.float64 if each == torch.complex128 else torch.float32
                return Complex(self.real.to(real), self.imag.to(real))
        return self

    def view_as_real(self) -> Tensor:
        """[..., 2], as PyTorch lays both parts out."""
        return torch.stack([self.real, self.imag], -1)

    def conj(self) -> Complex:
        """With the other sign of the imaginary part."""
        return Complex(self.real, -self.imag)

    def resolve_conj(self) -> Self:
        """Itself: a conjugate is computed at once."""
        return self

    def abs(self) -> Tensor:
        """The distance from 0."""
        return torch.hypot(self.real, self.imag)

    def angle(self) -> Tensor:
        """In radians."""
        return torch.atan2(self.imag, self.real)

    def exp(self) -> Complex:
        """The exponential."""
        return _polar(self.real.exp(), self.imag)

    def add(self, other: Any) -> Complex:
        """The sum."""
        other = Complex.of(other)
        return Complex(self.real + other.real, self.imag + other.imag)

    def sub(self, other: Any) -> Complex:
        """The difference."""
        other = Complex.of(other)
        return Complex(self.real - other.real, self.imag - other.imag)

    def mul(self, other: Any) -> Complex:
        """The product."""
        if not isinstance(other, Complex | complex):
            return Complex(self.real * other, self.imag * other)
        other = Complex.of(other)
        return Complex(
            self.real * other.real - self.imag * other.imag,
            self.real * other.imag + self.imag * other.real,
        )

    def div(self, other: Any) -> Complex:
        """The quotient."""
        if not isinstance(other, Complex | complex):
            return Complex(self.real / other, self.imag / other)
        other = Complex.of(other)
        size = other.real.square() + other.imag.square()
        return self.mul(other.conj()).div(size)

    def matmul(self, other: Any) -> Complex:
        """The product of matrices."""
        other = Complex.of(other)
        return Complex(
            self.real @ other.real - self.imag @ other.imag,
            self.real @ other.imag + self.imag @ other.real,
        )

    def __getitem__(self, index: Any) -> Complex:
        return self._same("getitem", (index,), {})

    def __neg__(self) -> Complex:
        return self._same("neg", (), {})

    __add__, __sub__, __mul__, __truediv__, __matmul__ = add, sub, mul, div, matmul
    __radd__, __rmul__ = add, mul

    def __rsub__(self, other: Any) -> Complex:
        return Complex.of(other).sub(self)

    def __rtruediv__(self, other: Any) -> Complex:
        return Complex.of(other).div(self)


def _polar(size: Tensor, angle: Tensor) -> Complex:
    return Complex(size * angle.cos(), size * angle.sin())


_MAKERS: Mapping[Any, Callable[..., Complex]] = {
    torch.complex: Complex,
    torch.polar: _polar,
    torch.view_as_complex: lambda x: Complex(x[..., 0], x[..., 1]),
}


class ComplexAsParts(TorchFunctionMode):
    """Makes complex tensors as their parts."""

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return _MAKERS.get(function, function)(*args, **(kwargs or {}))
