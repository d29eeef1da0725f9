"""What a tensor is over its memory: its type, shape and strides, which a call may change.

A function that is given ``out`` resizes it, ``unsqueeze_`` gives it another shape, and an
assignment to ``.data`` another type and other memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


class Form:
    """The form and the memory of a tensor when this is made. Keeps both alive.

    Tensors that are made of several, and those that are not dense, keep theirs.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor
        self._before: torch.Tensor | None = None
        if tensor.layout == torch.strided and not is_traceable_wrapper_subclass(tensor):
            self._before = tensor.detach()  # over the same memory
            self._size = self._before.untyped_storage().nbytes()

    def is_elsewhere(self) -> bool:
        """Whether the tensor has other memory by now."""
        return self._before is not None and _memory(self._tensor) != _memory(self._before)

    def is_changed(self) -> bool:
        """Whether the tensor has another form or other memory by now."""
        return self._before is not None and _form(self._tensor) != _form(self._before)

    def put_back(self) -> None:
        """Gives the tensor its form and its memory back, but not the values in there."""
        if self._before is None:
            return
        if _form(self._tensor) != _form(self._before):
            self._tensor.data = self._before
        memory = self._before.untyped_storage()
        if memory.nbytes() != self._size:
            memory.resize_(self._size)


def _form(tensor: torch.Tensor) -> tuple[Any, ...]:
    place = (tensor.stride(), tensor.storage_offset(), _memory(tensor))
    return (tensor.dtype, tensor.shape, *place)


def _memory(tensor: torch.Tensor) -> int:
    address: int = tensor.untyped_storage()._cdata
    return address
