"""Writes the NumPy files of npz_test.cc beside this script."""

import io
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
EARLIEST = (1980, 1, 1, 0, 0, 0)
ARRAYS = {
    "bool": np.array([[True, False], [False, True]]),
    "uint8": np.array([0, 1, 255], np.uint8),
    "int8": np.array([-128, 0, 127], np.int8),
    "int16": np.array([-32768, 32767], np.int16),
    "int32": np.array([[-(2**31)], [2**31 - 1]], np.int32),
    "int64": np.array(-(2**63), np.int64),
    "float16": np.array([0.5, -2.0], np.float16),
    "float32": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "float64": np.array([np.pi]),
    "bits/of_bfloat16": np.array([0x3F80, 0xC000], np.uint16),  # 1 and -2
    "empty": np.zeros((3, 0, 2), np.float32),
}


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def write_reference(path, arrays):
    """As the C++ writer does: sorted, stored, without a date."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}.npy", EARLIEST)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, npy(arrays[name]))


def write_zip64(path, arrays):
    """As for files beyond 4 GiB: every number in a zip64 record."""
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 1
    np.savez(path, **arrays)
    zipfile.ZIP64_LIMIT = limit


def main():
    np.savez(HERE / "stored.npz", **ARRAYS)
    np.savez_compressed(HERE / "deflated.npz", **ARRAYS)
    write_zip64(HERE / "zip64.npz", {"int16": ARRAYS["int16"], "bool": ARRAYS["bool"]})
    write_reference(HERE / "reference.npz", ARRAYS)
    np.save(HERE / "reference.npy", ARRAYS["float32"])
    np.save(HERE / "fortran.npy", np.asfortranarray(ARRAYS["float32"]))
    np.save(HERE / "big_endian.npy", ARRAYS["int16"].astype(">i2"))
    np.save(HERE / "complex.npy", np.array([1j]))
    np.save(HERE / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(HERE / "structured.npy", np.zeros(1, [("a", "<f4")]))
    for version in (2, 3):
        with (HERE / f"version_{version}.npy").open("wb") as file:
            np.lib.format.write_array(file, ARRAYS["int16"], version=(version, 0))


main()
