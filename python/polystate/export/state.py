"""Finds the state of a program: the buffers that some method changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram

from polystate.errors import ExportError, UnsupportedError
from polystate.export.tracing.eager import EagerModule

_DTYPES = {
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
}
_PREVIEWED = 6


@dataclass(frozen=True)
class StateBuffer:
    """A buffer that some method changes, by its fully qualified name, with its first value."""

    name: str
    initial: torch.Tensor

    @property
    def zeros(self) -> bool:
        """Whether every byte of the initial value is zero."""
        return not bool(self.initial.contiguous().reshape(-1).view(torch.uint8).any())

    @property
    def dtype(self) -> str:
        """The element type as the manifest names it."""
        return dtype_name(self.initial.dtype)

    @property
    def preview(self) -> str:
        """The first initial values, for people."""
        values = self.initial.reshape(-1)[:_PREVIEWED].tolist()
        shown = ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v).lower() for v in values)
        return shown + (", ..." if self.initial.numel() > _PREVIEWED else "")


def dtype_name(dtype: torch.dtype) -> str:
    """PyTorch's name without the module; UnsupportedError for types that the runtime lacks."""
    if dtype not in _DTYPES:
        raise UnsupportedError(
            f"{dtype} is not supported; the runtime has {sorted(map(str, _DTYPES))}"
        )
    return str(dtype).removeprefix("torch.")


def find_state(
    eager: EagerModule, programs: Iterable[tuple[str, ExportedProgram]]
) -> list[StateBuffer]:
    """The buffers that the functional programs change, in the module's order.

    Raises
    ------
    ExportError
        When a program changes a parameter or a constant.
    """
    changed: set[str] = set()
    for method, program in programs:
        signature = program.graph_signature
        for name in signature.parameters_to_mutate.values():
            raise ExportError(
                f"method '{method}' changes the parameter '{name}'; register it as a buffer"
            )
        changed.update(signature.buffers_to_mutate.values())
    names = dict(eager.model.named_buffers(remove_duplicate=False))
    missing = sorted(changed - names.keys())
    if missing:
        raise ExportError(
            f"a constant is changed: {missing}; register it as a buffer of the module"
        )
    state = [StateBuffer(name, eager.initial(name)) for name in names if name in changed]
    for buffer in state:
        dtype_name(buffer.initial.dtype)
    return state
