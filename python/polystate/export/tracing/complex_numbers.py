"""Complex numbers inside of a method are traced as their real and imaginary parts.

No engine has complex tensors. Under a trace, what makes a complex tensor of real ones makes one of
these instead, which computes with both parts until it is made real again: rotary embeddings that
multiply by complex numbers, Fourier transforms and spectrograms export like others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from polystate.export.tracing import complex_functions  # noqa: F401  (what has been learned)
from polystate.export.tracing.complex_parts import Complex, name_of, polar, real_type
from polystate.export.tracing.fourier import TRANSFORMS

# Functions that make tensors of a type, of which that of the parts is asked.
_MAKING = """
    arange empty empty_like eye full full_like linspace logspace new_empty new_full new_ones
    new_tensor new_zeros ones ones_like scalar_tensor tensor zeros zeros_like
"""
_FACTORIES = frozenset(_MAKING.split())
# Methods that turn a real tensor into a complex one.
_CONVERSIONS = {"cfloat": torch.complex64, "cdouble": torch.complex128}


def _of_pairs(pairs: Tensor) -> Complex:
    return Complex(pairs[..., 0], pairs[..., 1])


def _of_parts(real: Tensor, imag: Tensor) -> Complex:
    return Complex(real, imag, is_borrowed=True)


_MAKERS: Mapping[Any, Callable[..., Any]] = {
    torch.complex: _of_parts,
    torch.polar: polar,
    torch.view_as_complex: _of_pairs,
    **TRANSFORMS,
}


class ComplexAsParts(TorchFunctionMode):
    """Makes complex tensors as their parts."""

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _MAKERS:
            return _MAKERS[function](*args, **kwargs)
        name = name_of(function)
        if name in _CONVERSIONS and isinstance(args[0], Tensor):
            return Complex.of(args[0].to(real_type(_CONVERSIONS[name])))
        if any(isinstance(arg, Complex) for arg in (*args, *kwargs.values())):
            return Complex.call(name, args, kwargs)
        if name in _FACTORIES and _makes_complex(args, kwargs):
            return _made(function, args, kwargs)
        if name in ("to", "type") and args and isinstance(args[0], Tensor):
            for value in (*args[1:], *kwargs.values()):
                if isinstance(value, torch.dtype) and value.is_complex:
                    return Complex.of(args[0].to(real_type(value)))
        if any(isinstance(arg, complex) for arg in args):
            return Complex.call(name, args, kwargs)
        return function(*args, **kwargs)


def _makes_complex(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    dtype = kwargs.get("dtype")
    if isinstance(dtype, torch.dtype):
        return dtype.is_complex
    return any(_has_complex(value) for value in (*args, *kwargs.values()))


def _has_complex(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_complex(each) for each in value)
    return isinstance(value, complex)


def _made(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Complex:
    """A factory's tensor, by its values in both parts."""
    kwargs = {**kwargs, "dtype": real_type(kwargs.get("dtype") or torch.complex64)}
    of_reals = {key: _part(value, "real") for key, value in kwargs.items()}
    real = function(*(_part(arg, "real") for arg in args), **of_reals)
    if not any(_has_complex(value) for value in (*args, *kwargs.values())):
        return Complex(real, torch.zeros_like(real))
    of_imags = {key: _part(value, "imag") for key, value in kwargs.items()}
    return Complex(real, function(*(_part(arg, "imag") for arg in args), **of_imags))


def _part(value: Any, name: str) -> Any:
    """Of the numbers among what a factory is given; sizes have none that are complex."""
    if not _has_complex(value):
        return value
    return _each_part(value, name)


def _each_part(value: Any, name: str) -> Any:
    """Of every number in lists of numbers."""
    if isinstance(value, list | tuple):
        return [_each_part(each, name) for each in value]
    return getattr(value, name)
