"""Models in GGUF files, which transformers reads with the packages of an extra."""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

from polystate.errors import ExportError
from polystate.recipes.paths import is_file

# What transformers' reader of these files needs.
_PACKAGES = ("gguf", "accelerate")
_EXACT = frozenset({"F64", "F32", "F16", "BF16"})


def is_gguf(source: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a GGUF file."""
    return Path(source).suffix == ".gguf" and is_file(source)


def require_reader() -> None:
    """Refuses where packages are missing that a GGUF file is read with.

    Raises
    ------
    ExportError
        With the command that installs them.
    """
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ExportError(
            f"a GGUF file is read with packages that are not installed ({', '.join(missing)}): "
            f"pip install 'polystate[gguf]'"
        )


def warn_of_requantization(path: Path, quantization: str | None) -> None:
    """Says which weights of a file are computed with in another form than they are stored in."""
    from gguf import GGUFReader  # type: ignore[import-not-found,unused-ignore]

    kinds = sorted({tensor.tensor_type.name for tensor in GGUFReader(path).tensors} - _EXACT)
    if not kinds:
        return
    again = (
        "" if quantization is None else f", and those of linears quantized again ({quantization})"
    )
    warnings.warn(
        f"{path.name}: weights of {', '.join(kinds)} are dequantized to float32{again}",
        stacklevel=2,
    )
