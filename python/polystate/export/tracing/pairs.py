"""Complex tensors as real ones whose last dimension has both parts, which is what programs see."""

from __future__ import annotations

import torch


def as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as pairs [..., 2] in the same memory, or in a copy of a lazy conjugate.

    Any other is given as it is.
    """
    if not tensor.is_complex():
        return tensor
    return torch.view_as_real(tensor.resolve_conj())


def of_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Pairs [..., 2] as a complex tensor in the same memory, or a copy where it lies otherwise."""
    strides = tensor.stride()
    lies_as_pairs = strides[-1] == 1 and all(stride % 2 == 0 for stride in strides[:-1])
    return torch.view_as_complex(tensor if lies_as_pairs else tensor.contiguous())


def complex_name(real: str) -> str:
    """The name of the complex type whose parts are of a real type."""
    return {"float32": "complex64", "float64": "complex128"}[real]
