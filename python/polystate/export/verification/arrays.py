"""Tensors as NumPy arrays, and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from polystate.export.tracing.bools import plain_bools

Array = np.ndarray[Any, np.dtype[Any]]


def as_bits(tensor: torch.Tensor) -> Array:
    """A copy as a NumPy array; bfloat16 as its bits in uint16, bools as 0 or 1."""
    tensor = plain_bools(tensor.detach().clone(memory_format=torch.contiguous_format))
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    array: Array = tensor.numpy()
    return array


def as_array(tensor: torch.Tensor) -> Array:
    """A copy as a NumPy array of the same type."""
    array = as_bits(tensor)
    return array.view(ml_dtypes.bfloat16) if tensor.dtype == torch.bfloat16 else array


def as_tensor(array: Array) -> torch.Tensor:
    """An array's memory as a tensor."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)
