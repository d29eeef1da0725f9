"""Complex tensors as two real ones, and the functions that do the same with both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from polystate.export.tracing.complex_copies import tie
from polystate.export.tracing.complex_names import (
    ATTRIBUTES,
    PART_BY_PART,
    RESHAPING,
    SHAPED_AS_ANOTHER,
    SIGNED,
    SWAPPED,
    WRITING_ROWS,
    name_of,
    usual_name,
)

Function = Callable[..., Any]
_Learned = TypeVar("_Learned", bound=Function)


def real_type(dtype: torch.dtype) -> torch.dtype:
    """The type of the parts of complex numbers."""
    return torch.float64 if dtype in (torch.complex128, torch.float64) else torch.float32


class NotLearnedError(AttributeError, TypeError):
    """Raised for a function that is not computed by parts: ``hasattr`` is then false."""


def _not_learned(what: str) -> NotLearnedError:
    return NotLearnedError(
        f"an export writes complex numbers as their parts, and has not learned '{what}' of them"
    )


class Complex:
    """A complex tensor as two real ones of one shape and type.

    Changing it changes the parts in place, unless they belong to others (``is_borrowed``): then it
    copies them first. A complex tensor that the user's code makes of real ones has copies from the
    start, as PyTorch's has, since that code may take views of it.
    """

    # What has been learned beside what the class does itself, by PyTorch's names.
    functions: ClassVar[dict[str, Function]] = {}

    def __init__(self, real: Tensor, imag: Tensor, *, is_borrowed: bool = False) -> None:
        if real.shape != imag.shape:
            shape = torch.broadcast_shapes(real.shape, imag.shape)  # type: ignore[no-untyped-call]
            real, imag, is_borrowed = real.expand(shape).clone(), imag.expand(shape).clone(), False
        if real.dtype != imag.dtype:
            dtype = torch.promote_types(real.dtype, imag.dtype)
            real, imag = real.to(dtype), imag.to(dtype)
        self._real, self._imag, self._is_borrowed = real, imag, is_borrowed
        self._pairs: Tensor | None = None
        self._conjugate_of: Complex | None = None

    @classmethod
    def over(cls, pairs: Tensor) -> Complex:
        """A number over pairs [..., 2]: what changes the one changes the other."""
        made = cls(pairs[..., 0], pairs[..., 1])
        made._pairs = pairs
        return made

    @classmethod
    def of(cls, value: Any, beside: Any = None) -> Complex:
        """A number or a tensor as a complex one.

        Parameters
        ----------
        beside
            What a number is computed with, which decides its type.
        """
        if isinstance(value, Complex):
            return value
        if isinstance(value, bool | int | float | complex):
            dtype = _type_beside(beside)
            numbers = [torch.tensor(part, dtype=dtype) for part in (value.real, value.imag)]
            return cls(*numbers)
        real = torch.as_tensor(value)
        if real.is_complex():
            is_constant = type(real) in (Tensor, torch.nn.Parameter)
            # Outside of a trace's modes, so that the parts are constants of the graph themselves.
            with _disable_current_modes() if is_constant else contextlib.nullcontext():
                pairs = torch.view_as_real(real.resolve_conj())
                return cls(pairs[..., 0], pairs[..., 1])
        if not real.is_floating_point():
            real = real.to(torch.get_default_dtype())
        return cls(real, torch.zeros_like(real), is_borrowed=True)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return cls.call(name_of(function), args, kwargs or {})

    @classmethod
    def call(cls, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What PyTorch's function of a name does; one of the arguments is complex."""
        name = usual_name(name)
        if name in SWAPPED:
            args = (args[1], args[0])
            name = usual_name(name[1:])
        kwargs = dict(kwargs)
        if "input" in kwargs and not args:
            args = (kwargs.pop("input"),)
        if name in cls.functions:
            return cls.functions[name](*args, **kwargs)
        first, *rest = args
        tensors = (each for each in (*rest, *kwargs.values()) if isinstance(each, Tensor | Complex))
        return getattr(cls.of(first, next(tensors, None)), name)(*rest, **kwargs)

    def __getattr__(self, name: str) -> Any:
        name = usual_name(name)
        if name in PART_BY_PART:
            return lambda *args, **kwargs: self._same(name, args, kwargs)
        if name in ATTRIBUTES:
            return getattr(self.real, name)
        if name in ("is_contiguous", "stride"):
            return getattr(self, f"_{name}")
        if name in self.functions:
            return lambda *args, **kwargs: self.functions[name](self, *args, **kwargs)
        if name in WRITING_ROWS and self._pairs is not None:
            return lambda *args, **kwargs: self._write_rows(name, *args, **kwargs)
        if name in RESHAPING:
            return lambda *args, **kwargs: self._become(getattr(self, name[:-1])(*args, **kwargs))
        if name.endswith("_") and not name.startswith("_"):
            return lambda *args, **kwargs: self._change(getattr(self, name[:-1])(*args, **kwargs))
        raise _not_learned(name)

    def _same(self, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        if self._conjugate_of is not None and name not in SIGNED:
            # A view of a conjugate is one of the number.
            found = self._conjugate_of._same(name, args, kwargs)
            if isinstance(found, Complex):
                return found.conj()
            return tuple(each.conj() for each in found)
        method = getattr(Tensor, "__getitem__" if name == "getitem" else name, None)
        method = method or getattr(torch.nn.functional, name, None) or getattr(torch, name)
        if name not in SHAPED_AS_ANOTHER and any(
            isinstance(each, Complex) for each in (*args, *kwargs.values())
        ):
            raise _not_learned(f"{name} with several complex arguments")
        args, kwargs = [_of_parts(a) for a in args], {k: _of_parts(v) for k, v in kwargs.items()}
        real, imag = method(self.real, *args, **kwargs), method(self.imag, *args, **kwargs)
        if isinstance(real, Tensor):
            return Complex(real, imag, is_borrowed=self._is_borrowed)
        pairs = zip(real, imag, strict=True)
        return tuple(Complex(*pair, is_borrowed=self._is_borrowed) for pair in pairs)

    def _change(self, value: Complex) -> Complex:
        """Set its values in place."""
        if value is self:  # it was changed already
            return self
        if self._conjugate_of is not None:  # it is a view of that number
            self._conjugate_of._change(value.conj())
            return self
        self._own()
        if self._pairs is not None:  # both parts at once
            self._pairs.copy_(value.view_as_real())
            return self
        self.real.copy_(value.real)
        self.imag.copy_(value.imag)
        return self

    def _become(self, other: Complex) -> Complex:
        """Take the parts of what is another view of the same memory."""
        self._real, self._imag, self._pairs = other._real, other._imag, other._pairs
        self._is_borrowed, self._conjugate_of = other._is_borrowed, other._conjugate_of
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Complex:
        """Nothing: an export computes no gradients."""
        return self

    def _write_rows(
        self, name: str, dim: int, index: Tensor, source: Any, **kwargs: Any
    ) -> Complex:
        assert self._pairs is not None
        pairs = Complex.of(source).view_as_real()
        getattr(self._pairs, name)(dim % max(self.dim(), 1), index, pairs, **kwargs)
        return self

    def _own(self) -> None:
        if self._is_borrowed:
            self._real, self._imag = self._real.clone(), self._imag.clone()
            self._is_borrowed = False

    def _is_contiguous(self, **options: Any) -> bool:
        tensor = self.real if self._pairs is None else self._pairs
        return tensor.is_contiguous(**options)

    def _stride(self, dim: int | None = None) -> Any:
        strides = self.real.stride()
        if self._pairs is not None:
            strides = tuple(step // 2 for step in strides)
        return strides if dim is None else strides[dim]

    @property
    def real(self) -> Tensor:
        """The real part; setting it changes that part where it lies."""
        return self._real if self._conjugate_of is None else self._conjugate_of.real

    @real.setter
    def real(self, value: Any) -> None:
        self._change(Complex(self._part(value), self.imag))

    @property
    def imag(self) -> Tensor:
        """The imaginary part, as above."""
        number = self._conjugate_of
        if number is None:
            return self._imag
        negated = -number.imag
        tie(negated, number, lambda: Complex(number.real, -negated))
        return negated

    @imag.setter
    def imag(self, value: Any) -> None:
        self._change(Complex(self.real, self._part(value)))

    def _part(self, value: Any) -> Tensor:
        return torch.as_tensor(value, dtype=self._real.dtype).expand(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The type that a complex tensor of such parts has."""
        return torch.complex128 if self.real.dtype == torch.float64 else torch.complex64

    @property
    def T(self) -> Complex:  # noqa: N802 (PyTorch's name)
        """Transposed."""
        if self._conjugate_of is not None:
            return self._conjugate_of.T.conj()
        return Complex(self.real.T, self.imag.T, is_borrowed=self._is_borrowed)

    @property
    def mT(self) -> Complex:  # noqa: N802
        """Transposed in the last two dimensions."""
        if self._conjugate_of is not None:
            return self._conjugate_of.mT.conj()
        return Complex(self.real.mT, self.imag.mT, is_borrowed=self._is_borrowed)

    @property
    def H(self) -> Complex:  # noqa: N802
        """Transposed, the conjugate."""
        return self.T.conj()

    @property
    def mH(self) -> Complex:  # noqa: N802
        """Transposed in the last two dimensions, the conjugate."""
        return self.mT.conj()

    def is_complex(self) -> bool:
        """True."""
        return True

    def is_floating_point(self) -> bool:
        """False."""
        return False

    def is_conj(self) -> bool:
        """False: a conjugate is computed at once."""
        return False

    def view_as_real(self) -> Tensor:
        """[..., 2], as PyTorch lays both parts out."""
        if self._pairs is not None:
            return self._pairs
        pairs = torch.stack([self.real, self.imag], -1)
        tie(pairs, self, lambda: Complex(pairs[..., 0], pairs[..., 1]))
        return pairs

    def conj(self) -> Complex:
        """With the other sign of the imaginary part: a view, whose parts follow the number's."""
        conjugate = Complex(self.real, self.imag, is_borrowed=True)
        conjugate._conjugate_of = self
        return conjugate

    def abs(self) -> Tensor:
        """The distance from 0."""
        return torch.hypot(self.real, self.imag)

    def angle(self) -> Tensor:
        """In radians."""
        return torch.atan2(self.imag, self.real)

    def add(self, other: Any, *, alpha: Any = 1) -> Complex:
        """The sum."""
        if alpha != 1:
            other = Complex.of(other, self).mul(alpha)
        real, imag = parts(other)
        return Complex(self.real + real, self.imag + imag)

    def sub(self, other: Any, *, alpha: Any = 1) -> Complex:
        """The difference."""
        if alpha != 1:
            other = Complex.of(other, self).mul(alpha)
        real, imag = parts(other)
        return Complex(self.real - real, self.imag - imag)

    def mul(self, other: Any) -> Complex:
        """The product."""
        if not is_complex(other):
            return Complex(self.real * other, self.imag * other)
        real, imag = parts(other)
        return Complex(self.real * real - self.imag * imag, self.real * imag + self.imag * real)

    def div(self, other: Any) -> Complex:
        """The quotient, of numbers whose squares may be too large or too small (Smith's method)."""
        if not is_complex(other):
            return Complex(self.real / other, self.imag / other)
        if isinstance(other, complex):
            return self.mul(1 / other)
        other = Complex.of(other)
        is_wide = other.real.abs() >= other.imag.abs()
        large = torch.where(is_wide, other.real, other.imag)
        small = torch.where(is_wide, other.imag, other.real)
        ratio = small / torch.where(large == 0, 1, large)
        size = large + small * ratio
        a, b = self.real, self.imag
        real = torch.where(is_wide, a + b * ratio, a * ratio + b) / size
        return Complex(real, torch.where(is_wide, b - a * ratio, b * ratio - a) / size)

    def __getitem__(self, index: Any) -> Complex:
        if self._pairs is not None:
            return Complex.over(self._pairs[_index_of_pairs(index)])
        return self._same("getitem", (index,), {})  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._conjugate_of is not None:
            self._conjugate_of[index] = Complex.of(value).conj()
            return
        if self._pairs is not None and not _has_mask(index):
            self._pairs[_index_of_pairs(index)] = _as_pairs(value, self._pairs.dtype)
            return
        self._own()
        self.real[index], self.imag[index] = parts(value)

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[Complex]:
        return iter(self.unbind(0))

    def __neg__(self) -> Complex:
        return self._same("neg", (), {})  # type: ignore[no-any-return]

    def __pos__(self) -> Complex:
        return self

    def __abs__(self) -> Any:
        return self.call("abs", (self,), {})

    def __bool__(self) -> bool:
        return bool((self.real != 0) | (self.imag != 0))

    def __ipow__(self, exponent: Any) -> Complex:
        return self._change(self.call("pow", (self, exponent), {}))

    def __pow__(self, exponent: Any) -> Any:
        return self.call("pow", (self, exponent), {})

    def __rpow__(self, base: Any) -> Any:
        return self.call("pow", (base, self), {})

    def __matmul__(self, other: Any) -> Any:
        return self.call("matmul", (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return self.call("matmul", (other, self), {})

    def __eq__(self, other: object) -> Any:
        return self.call("eq", (self, other), {})

    def __ne__(self, other: object) -> Any:
        return self.call("ne", (self, other), {})

    __hash__ = object.__hash__
    __add__, __sub__, __mul__, __truediv__ = add, sub, mul, div
    __radd__, __rmul__ = add, mul

    def __rsub__(self, other: Any) -> Complex:
        return Complex.of(other, self).sub(self)

    def __rtruediv__(self, other: Any) -> Complex:
        return Complex.of(other, self).div(self)

    def __iadd__(self, other: Any) -> Complex:  # type: ignore[misc]
        return self._change(self.add(other))

    def __isub__(self, other: Any) -> Complex:  # type: ignore[misc]
        return self._change(self.sub(other))

    def __imul__(self, other: Any) -> Complex:  # type: ignore[misc]
        return self._change(self.mul(other))

    def __itruediv__(self, other: Any) -> Complex:  # type: ignore[misc]
        return self._change(self.div(other))


def _index_of_pairs(index: Any) -> Any:
    """An index of complex numbers as one of pairs [..., 2]."""
    places = index if isinstance(index, tuple) else (index,)
    return (*places, slice(None)) if any(each is Ellipsis for each in places) else index


def _has_mask(index: Any) -> bool:
    places = index if isinstance(index, tuple) else (index,)
    return any(isinstance(each, Tensor) and each.dtype == torch.bool for each in places)


def _as_pairs(value: Any, dtype: torch.dtype) -> Tensor:
    if isinstance(value, bool | int | float | complex):
        return torch.tensor([value.real, value.imag], dtype=dtype)
    return Complex.of(value).view_as_real()


def learned(function: _Learned) -> _Learned:
    """Compute PyTorch's function of the same name by this one."""
    Complex.functions[function.__name__.strip("_")] = function
    return function


def knows(name: str) -> bool:
    """Whether a function of that name is computed by parts."""
    name = usual_name(name)
    return (
        name in PART_BY_PART or name in Complex.functions or callable(getattr(Complex, name, None))
    )


def is_complex(value: Any) -> bool:
    """Whether it is a complex number, or a tensor of them."""
    return isinstance(value, Complex | complex) or (
        isinstance(value, Tensor) and value.is_complex()
    )


def parts(value: Any) -> tuple[Any, Any]:
    """Both parts; those of a number are numbers, so that they do not decide a result's type."""
    if isinstance(value, bool | int | float | complex):
        return value.real, value.imag
    if isinstance(value, Tensor) and not value.is_complex():
        return value, 0
    value = Complex.of(value)
    return value.real, value.imag


def polar(abs: Tensor, angle: Tensor) -> Complex:
    """Make complex numbers from distances from 0 and angles in radians."""
    return Complex(abs * angle.cos(), abs * angle.sin())


def _type_beside(value: Any) -> torch.dtype:
    """The type of a number's parts beside a tensor."""
    if isinstance(value, Complex):
        return value.real.dtype
    if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
        return real_type(value.dtype)
    return torch.get_default_dtype()


def _of_parts(value: Any) -> Any:
    """An argument in a form that fits both parts: real types, and the real part of tensors."""
    if isinstance(value, torch.dtype) and value.is_complex:
        return real_type(value)
    return value.real if isinstance(value, Complex) else value
