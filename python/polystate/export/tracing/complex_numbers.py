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
from polystate.export.tracing.complex_copies import follow
from polystate.export.tracing.complex_names import name_of
from polystate.export.tracing.complex_parts import Complex, knows, polar, real_type
from polystate.export.tracing.fourier import TRANSFORMS

# Functions that make tensors of a type; they are asked for tensors of the parts' type.
_MAKING = """
    arange empty empty_like eye full full_like linspace logspace new_empty new_full new_ones
    new_tensor new_zeros ones ones_like scalar_tensor tensor zeros zeros_like
"""
_FACTORIES = frozenset(_MAKING.split())
_ATTRIBUTES = frozenset(("real", "imag", "T", "mT", "H", "mH"))
# Methods that turn a real tensor into a complex one.
_CONVERSIONS = {"cfloat": torch.complex64, "cdouble": torch.complex128}


def _of_parts(real: Tensor, imag: Tensor) -> Complex:
    return Complex(real.clone(), imag.clone())


_MAKERS: Mapping[Any, Callable[..., Any]] = {
    torch.complex: _of_parts,
    torch.polar: polar,
    torch.view_as_complex: Complex.over,
    **TRANSFORMS,
}


class ComplexAsParts(TorchFunctionMode):
    """Computes with complex tensors by their parts: those that functions make, and given ones."""

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[int, tuple[Tensor, Complex]] = {}

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        result = self._computed(function, args, kwargs or {})
        if args and isinstance(args[0], Tensor):
            follow(function, args[0], result)
        return result

    def _computed(self, function: Any, args: Sequence[Any], kwargs: Any) -> Any:
        name = name_of(function)
        if name == "get" and isinstance(args[0], Tensor):
            return self._attribute(function, args)
        if knows(name):
            args, kwargs = self._by_parts(list(args)), self._by_parts(kwargs)
        if function in _MAKERS:
            if "input" in kwargs and not args:
                args, kwargs = _with_input(kwargs)
            return _MAKERS[function](*args, **kwargs)
        if any(isinstance(arg, Complex) for arg in (*args, *kwargs.values())):
            return Complex.call(name, args, kwargs)
        if name in _FACTORIES and _makes_complex(args, kwargs):
            return _made(function, args, kwargs)
        dtype = _complex_type(name, args, kwargs)
        if dtype is not None:
            return _converted(name, args[0], dtype)
        if any(isinstance(arg, complex) for arg in (*args, *kwargs.values())):
            return Complex.call(name, args, kwargs)
        return function(*args, **kwargs)

    def _attribute(self, function: Any, args: Sequence[Any]) -> Any:
        name = function.__self__.__name__
        seen = self._by_parts(args[0]) if name in _ATTRIBUTES else args[0]
        return function(*args) if seen is args[0] else getattr(seen, name)

    def _by_parts(self, value: Any) -> Any:
        """An argument with parts for complex tensors, such as attributes and global variables."""
        if isinstance(value, dict):
            return {key: self._by_parts(each) for key, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._by_parts(each) for each in value)
        if type(value) not in (Tensor, torch.nn.Parameter) or not value.is_complex():
            return value
        if id(value) not in self._constants:
            self._constants[id(value)] = value, Complex.of(value)
        return self._constants[id(value)][1]


def _with_input(kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Give ``input`` by its place, as the first argument."""
    others = dict(kwargs)
    return (others.pop("input"),), others


def _complex_type(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.dtype | None:
    """What a method makes of a real tensor, where that is complex."""
    if not (args and isinstance(args[0], Tensor)):
        return None
    if name in _CONVERSIONS:
        return _CONVERSIONS[name]
    if name not in ("to", "type", "view"):
        return None
    dtypes = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.dtype)]
    return next((dtype for dtype in dtypes if dtype.is_complex), None)


def _converted(name: str, tensor: Tensor, dtype: torch.dtype) -> Complex:
    if name == "view":  # of the memory
        return Complex.over(torch.unflatten(tensor, -1, (-1, 2)))
    real = tensor.to(real_type(dtype), copy=True)
    return Complex(real, torch.zeros_like(real))


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
    """Make a tensor by calling a factory once for each part."""
    kwargs = {**kwargs, "dtype": real_type(kwargs.get("dtype") or torch.complex64)}
    of_reals = {key: _part(value, "real") for key, value in kwargs.items()}
    real = function(*(_part(arg, "real") for arg in args), **of_reals)
    if not any(_has_complex(value) for value in (*args, *kwargs.values())):
        return Complex(real, torch.zeros_like(real))
    of_imags = {key: _part(value, "imag") for key, value in kwargs.items()}
    return Complex(real, function(*(_part(arg, "imag") for arg in args), **of_imags))


def _part(value: Any, name: str) -> Any:
    """Take a part of a factory's argument; one without complex numbers, such as sizes, stays."""
    if not _has_complex(value):
        return value
    return _each_part(value, name)


def _each_part(value: Any, name: str) -> Any:
    """Take a part of a number, or of every number in nested lists."""
    if isinstance(value, list | tuple):
        return [_each_part(each, name) for each in value]
    return getattr(value, name)
