"""Functions of complex numbers that move, choose, join, convert and fill elements."""
# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from polystate.export.tracing.complex_comparisons import is_true
from polystate.export.tracing.complex_parts import (
    Complex,
    is_complex,
    learned,
    parts,
    real_type,
)


@learned
def real(z: Any) -> Tensor:
    return z.real  # type: ignore[no-any-return]


@learned
def imag(z: Any) -> Tensor:
    return z.imag  # type: ignore[no-any-return]


@learned
def positive(z: Complex) -> Complex:
    return z


@learned
def resolve_conj(z: Complex) -> Complex:
    return z if z._conjugate_of is None else z.clone()


@learned
def conj_physical(z: Complex) -> Complex:
    return Complex(z.real.clone(), -z.imag)


@learned
def resolve_neg(z: Complex) -> Complex:
    return z


@learned
def adjoint(z: Complex) -> Complex:
    return z.mH


@learned
def to(z: Complex, *args: Any, **kwargs: Any) -> Any:
    """Of another type; there is one device."""
    for each in (*args, *kwargs.values()):
        dtype = each.dtype if isinstance(each, Tensor | Complex) else each
        if isinstance(dtype, torch.dtype) and dtype.is_complex:
            return Complex(z.real.to(real_type(dtype)), z.imag.to(real_type(dtype)))
        if isinstance(dtype, torch.dtype):
            return z.real.to(dtype)
    return z


@learned
def view(z: Complex, *shape: Any) -> Any:
    if isinstance(shape[0], torch.dtype):
        return z if shape[0].is_complex else z.view_as_real().flatten(-2).view(shape[0])
    return z._same("view", shape, {})


@learned
def type_as(z: Complex, other: Any) -> Any:
    return to(z, other.dtype)


@learned
def cfloat(z: Complex) -> Complex:
    return Complex(z.real.float(), z.imag.float())


@learned
def cdouble(z: Complex) -> Complex:
    return Complex(z.real.double(), z.imag.double())


@learned
def cpu(z: Complex, *_: Any, **__: Any) -> Complex:
    return z


@learned
def copy_(z: Complex, src: Any, non_blocking: bool = False) -> Complex:
    return z._change(Complex.of(src).expand(z.shape))


@learned
def fill_(z: Complex, value: Any) -> Complex:
    return z._change(Complex.of(value, z).expand(z.shape))


@learned
def zero_(z: Complex) -> Complex:
    return fill_(z, 0.0)


@learned
def _float(z: Complex, **_: Any) -> Tensor:
    return z.real.float()


@learned
def double(z: Complex, **_: Any) -> Tensor:
    return z.real.double()


def _filled(name: str, value: int) -> Any:
    def fill(
        z: Complex, *sizes: Any, size: Any = None, dtype: torch.dtype | None = None, **_: Any
    ) -> Any:
        is_list = len(sizes) == 1 and not isinstance(sizes[0], int | torch.SymInt)
        given = size if size is not None else sizes[0] if is_list else sizes
        return _full(z, given if name.startswith("new") else z.shape, value, dtype)

    fill.__name__ = name
    return fill


for _kind, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    learned(_filled(f"{_kind}_like", _value))
    learned(_filled(f"new_{_kind}", _value))


@learned
def full_like(z: Complex, fill_value: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full(z, z.shape, fill_value, dtype)


@learned
def new_full(
    z: Complex, size: Any, fill_value: Any, *, dtype: torch.dtype | None = None, **_: Any
) -> Any:
    return _full(z, size, fill_value, dtype)


def _full(z: Complex, size: Any, value: Any, dtype: torch.dtype | None) -> Any:
    dtype = z.dtype if dtype is None else dtype
    if not dtype.is_complex:
        return torch.full(size, value, dtype=dtype)
    x, y = (torch.full(size, part, dtype=real_type(dtype)) for part in parts(value))
    return Complex(x, y)


def _joining(name: str) -> Any:
    def join(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> Complex:
        each = [Complex.of(tensor) for tensor in tensors]
        function = getattr(torch, name)
        x = function([z.real for z in each], *args, **kwargs)
        return Complex(x, function([z.imag for z in each], *args, **kwargs))

    join.__name__ = name
    return join


def _each_of_several(name: str) -> Any:
    """Of functions that give a tensor for each that they get."""

    def work(*tensors: Any, **kwargs: Any) -> Any:
        several = tensors[0] if isinstance(tensors[0], list | tuple) else tensors
        each = [Complex.of(tensor) for tensor in several]
        function = getattr(torch, name)
        x = function(*(z.real for z in each), **kwargs)
        y = function(*(z.imag for z in each), **kwargs)
        return Complex(x, y) if isinstance(x, Tensor) else tuple(map(Complex, x, y))

    work.__name__ = name
    return work


for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "meshgrid"):
    learned(_each_of_several(_name))


for _name in ("cat", "stack", "hstack", "vstack", "dstack", "column_stack"):
    learned(_joining(_name))


@learned
def block_diag(*tensors: Any) -> Complex:
    each = [Complex.of(tensor) for tensor in tensors]
    join: Any = torch.block_diag
    return Complex(join(*(z.real for z in each)), join(*(z.imag for z in each)))


@learned
def where(condition: Any, input: Any, other: Any) -> Complex:
    if not (isinstance(condition, Tensor) and condition.dtype in (torch.bool, torch.uint8)):
        condition, input = input, condition  # the method of a tensor comes with that first
    (x, y), (u, v) = parts(input), parts(other)
    return Complex(torch.where(condition, x, u), torch.where(condition, y, v))


@learned
def diff(z: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Complex:
    each = [Complex.of(part) for part in (prepend, z, append) if part is not None]
    x, y = (torch.cat(part, dim) for part in ([e.real for e in each], [e.imag for e in each]))
    return Complex(torch.diff(x, n, dim), torch.diff(y, n, dim))


@learned
def repeat_interleave(z: Complex, repeats: Any, dim: int | None = None, **options: Any) -> Complex:
    if isinstance(repeats, Tensor):  # one size for both parts
        if dim is None:
            z, dim = z.flatten(), 0
        counts = repeats.expand(z.shape[dim])
        places = torch.repeat_interleave(counts, **options)
        return Complex(z.real.index_select(dim, places), z.imag.index_select(dim, places))
    x, y = (each.repeat_interleave(repeats, dim, **options) for each in (z.real, z.imag))
    return Complex(x, y)


@learned
def masked_select(z: Any, mask: Tensor) -> Complex:
    z, mask = Complex.of(z), torch.as_tensor(mask)
    shape = torch.broadcast_shapes(z.shape, mask.shape)  # type: ignore[no-untyped-call]
    return z.expand(shape)[mask.expand(shape)]  # type: ignore[no-any-return]


@learned
def nonzero(z: Complex, *, as_tuple: bool = False) -> Any:
    places: Any = torch.nonzero
    return places(is_true(z), as_tuple=as_tuple)


@learned
def argwhere(z: Complex) -> Tensor:
    return torch.argwhere(is_true(z))


@learned
def masked_fill(z: Complex, mask: Tensor, value: Any) -> Complex:
    x, y = parts(value)
    return Complex(z.real.masked_fill(mask, x), z.imag.masked_fill(mask, y))


@learned
def constant_pad_nd(z: Complex, pad: Sequence[int], value: Any = 0) -> Complex:
    return _padded(z, pad, "constant", value)


@learned
def pad(z: Complex, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Complex:
    return _padded(z, pad, mode, value)


def _padded(z: Complex, pad: Sequence[int], mode: str, value: Any) -> Complex:
    x, y = parts(0.0 if value is None else value)
    if mode != "constant":
        x = y = None
    function = torch.nn.functional.pad
    return Complex(function(z.real, pad, mode, x), function(z.imag, pad, mode, y))


def _writing(name: str) -> Any:
    """Of those that put complex values into a copy: index_copy(self, dim, index, values)."""

    def write(z: Any, *args: Any, **kwargs: Any) -> Complex:
        z = Complex.of(z)
        pairs = [parts(arg) if is_complex(arg) else (arg, arg) for arg in args]
        if name in _OF_A_VALUE:
            pairs[-1] = parts(args[-1])
        function = getattr(torch, name)
        x = function(z.real, *(first for first, _ in pairs), **kwargs)
        return Complex(x, function(z.imag, *(second for _, second in pairs), **kwargs))

    write.__name__ = name
    return write


# The last of whose arguments may be a real number.
_OF_A_VALUE = ("index_fill", "scatter")

for _name in (
    "diagonal_scatter",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "masked_scatter",
    "scatter",
    "scatter_add",
    "select_scatter",
    "slice_scatter",
):
    learned(_writing(_name))


def cat(tensors: Sequence[Complex]) -> Complex:
    return Complex.functions["cat"](tensors)  # type: ignore[no-any-return]
