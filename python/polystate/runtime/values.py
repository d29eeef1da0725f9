"""Arrays from Python values that are neither a torch tensor nor a NumPy array."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polystate.errors import ContractError

Array = NDArray[Any]


def exact_array(numbers: Any, dtype: str, where: str) -> Array:
    """Convert a number, or nested lists of numbers, without changing a value.

    Only fractions are rounded, to the nearest value of a floating-point ``dtype``: 0.1 has none in
    any.

    Parameters
    ----------
    numbers
        int, float, complex or bool, or lists and tuples of them, of equal lengths at every level.
    dtype
        As the manifest names it.
    where
        What the numbers are for; messages begin with it.

    Returns
    -------
    numpy.ndarray
        Of that dtype; bfloat16 as its bits in int16.

    Raises
    ------
    ContractError
        Something is no number, or has no equal in ``dtype``.
    """
    try:
        given = np.asarray(numbers)
    except (ValueError, TypeError, RuntimeError) as error:  # RuntimeError: torch's, in lists
        raise ContractError(f"{where}: the list is no tensor: {error}") from error
    if given.dtype.kind not in "biufc":
        raise ContractError(f"{where}: {_first_stranger(numbers)} is no number of 64 bits")
    with np.errstate(all="ignore"):
        converted = _rounded(given, dtype)
        same = _equal_parts(given, converted)
    if not same.all():
        value = given[~same].flat[0]
        raise ContractError(f"{where}: {value} cannot be {dtype} without a change of its value")
    return _bfloat16_bits(converted).view(np.int16) if dtype == "bfloat16" else converted


def shared_array(value: Any, written: bool, where: str) -> Array:
    """Give an array over the memory of any object that offers it.

    Parameters
    ----------
    value
        A buffer, or an object with ``__dlpack__``, ``__array__`` or ``__array_interface__``.
    written
        Whether the memory will be written, so that it must be the object's own.
    where
        What the value is for; messages begin with it.

    Raises
    ------
    ContractError
        The object offers no memory, or none that may be written.
    """
    try:
        if isinstance(value, np.generic):
            return np.asarray(value)
        buffer = _buffer(value)
        if buffer is not None:
            return np.asarray(buffer)
        if not written and (hasattr(value, "__array__") or hasattr(value, "__array_interface__")):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
    except (ValueError, TypeError, BufferError, RuntimeError, NotImplementedError) as error:
        raise ContractError(f"{where}: a {_type_name(value)} is no tensor: {error}") from error
    reason = "does not share its memory, which the method writes" if written else "is no tensor"
    raise ContractError(f"{where}: a {_type_name(value)} {reason}; pass an array or a tensor")


def _rounded(given: Array, dtype: str) -> Array:
    """Round to the nearest value of a dtype; of bfloat16 as float32."""
    if given.dtype.kind == "c" and not dtype.startswith("complex"):
        given = given.real  # which is seen where it changes the value
    if dtype != "bfloat16":
        return given.astype(dtype)
    return (_bfloat16_bits(given.astype(np.float32)).astype(np.uint32) << 16).view(np.float32)


def _bfloat16_bits(values: Array) -> Array:
    """Round float32 to the nearest bfloat16, to even where two are as near; NaN stays NaN."""
    bits = values.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0 | ((bits >> 16) & 0x8000), rounded).astype(np.uint16)


def _equal_parts(given: Array, converted: Array) -> NDArray[np.bool_]:
    """Which values a conversion kept, of complex numbers both parts."""
    if "c" not in given.dtype.kind + converted.dtype.kind:
        return _equal(given, converted)
    same = _equal(given.real, converted.real)
    return same & _equal(np.asarray(given.imag), np.asarray(converted.imag))


def _equal(given: Array, converted: Array) -> NDArray[np.bool_]:
    """Which values a conversion kept; rounding a fraction keeps it, overflow does not."""
    kinds = given.dtype.kind + converted.dtype.kind
    if "f" not in kinds:
        return np.asarray(converted == given)  # NumPy compares integers of any two types exactly
    if kinds == "ff":
        return np.isfinite(converted) | ~np.isfinite(given)
    returned = np.asarray(converted.astype(given.dtype) == given)
    if given.dtype.kind == "f":  # in a list with fractions, larger integers were rounded already
        return returned & (np.abs(given) < 2.0**53)
    limit = 2.0 ** (8 * given.dtype.itemsize - (given.dtype.kind == "i"))
    return returned & (converted < limit)  # the way back from there is undefined


def _buffer(value: Any) -> memoryview | None:
    try:
        return memoryview(value)
    except TypeError:
        return None


def _first_stranger(numbers: Any) -> str:
    """Show the first value in nested lists that is no number NumPy has a type for."""
    for item in np.asarray(numbers, dtype=object).flat:
        if np.asarray(item).dtype.kind not in "biufc":
            return reprlib.repr(item)
    return reprlib.repr(numbers)


def _type_name(value: Any) -> str:
    return type(value).__name__
