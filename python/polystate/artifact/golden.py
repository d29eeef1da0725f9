"""Recorded calls in NumPy's .npz form: what `polystate doctor` replays."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file can hold
_INTEGERS = ("uint8", "int8", "int16", "uint16", "int32", "int64")
_INEXACT = ("float16", "float32", "float64", "complex64", "complex128")
_DTYPES = frozenset(("bool", *_INTEGERS, *_INEXACT))
_PLAIN_FILE = 0o100644 << 16

# Of results with more elements some are recorded, so that a vocabulary of logits does not make an
# artifact larger than its weights do.
_WHOLE = 8192
_SAMPLE = 2048

# What a manifest says of a method that its program relies on.
_CONTRACT = ("name", "symbols", "inputs", "guards", "checks")


@dataclass(frozen=True)
class GoldenCall:
    """One call and what came of it; bfloat16 as its bits in uint16.

    Parameters
    ----------
    inputs
        In the manifest's order, as they were before the call.
    outputs
        In the manifest's order.
    written
        The inputs that the method mutates, by index, as they were after the call.
    """

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    written: Mapping[int, Array] = field(default_factory=dict)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """What is recorded, with its name inside the call.

        Of a large result: the values at some places of it, the places and its shape.
        """
        for index, array in enumerate(self.inputs):
            yield f"input_{index}", array
        results = [(f"output_{index}", array) for index, array in enumerate(self.outputs)]
        results += [(f"written_{index}", array) for index, array in sorted(self.written.items())]
        for name, array in results:
            if array.size <= _WHOLE:
                yield name, array
            else:
                places = _places(array)
                yield name, array.reshape(-1)[places]
                yield f"{name}_places", places
                yield f"{name}_shape", np.array(array.shape)


def golden_npz(calls: Sequence[GoldenCall], methods: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """Pack calls into an uncompressed .npz file; the same calls give the same bytes.

    Parameters
    ----------
    calls
        In the order in which they ran, from the initial state on.
    methods
        The manifest's, whose contracts are recorded, so that `doctor` sees others.

    Returns
    -------
    bytes
        The file, with names such as ``call_000/input_0``.

    Raises
    ------
    TypeError
        An array has a dtype that is not a plain number.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for index, call in enumerate(calls):
            for name, array in call.arrays():
                _add(archive, f"call_{index:03d}/{name}.npy", array)
        if methods:
            _add(archive, "contract.npy", _contract(methods))
    return file.getvalue()


def _add(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.create_system = 3  # Unix, wherever this runs
    entry.external_attr = _PLAIN_FILE
    archive.writestr(entry, _npy(array, entry.filename))


def _contract(methods: Sequence[Mapping[str, Any]]) -> Array:
    """The contract of the methods, as bytes of JSON."""
    contract = [{field: method[field] for field in _CONTRACT} for method in methods]
    return np.frombuffer(json.dumps(contract).encode(), np.uint8)


def _places(array: Array) -> NDArray[np.int64]:
    """Where to look at an array: all over it, and at its largest number.

    Tolerances are relative to that one, which is no stand-in for infinity.
    """
    step = array.size // _SAMPLE | 1  # odd, so that it meets every lane of a vector
    places = np.arange(0, array.size, step)
    if array.dtype.kind not in "fc":
        return places
    flat = array.reshape(-1).astype(np.complex128)
    sizes = np.maximum(np.abs(flat.real), np.abs(flat.imag))
    finite = sizes <= float(np.finfo(array.dtype.str).max) / 2
    return np.union1d(places, np.argmax(np.where(finite, sizes, 0)))


def _npy(array: Array, name: str) -> bytes:
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"'{name}' cannot be recorded: its dtype is {array.dtype}")
    little_endian = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    file = io.BytesIO()
    np.lib.format.write_array(file, little_endian, version=(1, 0), allow_pickle=False)
    return file.getvalue()
