"""Finds the state of a program: the buffers that some method changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch.export import ExportedProgram

from polystate.errors import ContractError, ExportError, UnsupportedError
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
    if dtype.is_complex:
        raise UnsupportedError(
            f"{dtype} is not supported, since tensors of programs are real; rewrite: pass and "
            f"return torch.view_as_real(x), and begin with torch.view_as_complex(x)"
        )
    if dtype not in _DTYPES:
        raise UnsupportedError(
            f"{dtype} is not supported; tensors of programs are of "
            f"{', '.join(sorted(str(each).removeprefix('torch.') for each in _DTYPES))}"
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


def grown(state: Sequence[StateBuffer], pages: Mapping[str, int]) -> list[StateBuffer]:
    """State with pools of so many pages, by their names, all of them zero.

    Raises
    ------
    ContractError
        When there is no such state, or it has more pages already, or is not zero.
    """
    unknown = sorted(pages.keys() - {buffer.name for buffer in state})
    if unknown:
        raise ContractError(f"pages names {unknown[0]!r}, which is no state that a method changes")
    return [
        _grown(buffer, pages[buffer.name]) if buffer.name in pages else buffer for buffer in state
    ]


def _grown(buffer: StateBuffer, pages: int) -> StateBuffer:
    if not buffer.zeros:
        raise ContractError(f"the pool '{buffer.name}' is not zero, as more pages of it would be")
    if pages < len(buffer.initial):
        raise ContractError(
            f"pages of '{buffer.name}' is {pages}; the module has {len(buffer.initial)} already"
        )
    first = buffer.initial[:1]
    return replace(buffer, initial=first.expand(pages, *first.shape[1:]))
