"""Finds the state of a program: the buffers that some method changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch.export import ExportedProgram

from polystate.errors import ContractError, ExportError, UnsupportedError
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.pairs import complex_name, of_pairs

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
    """A buffer that some method changes, by its fully qualified name, with its first value.

    Attributes
    ----------
    initial
        Of a complex buffer as the program has it: pairs [..., 2].
    """

    name: str
    initial: torch.Tensor
    is_complex: bool = False

    @property
    def zeros(self) -> bool:
        """Whether every byte of the initial value is zero."""
        return not bool(self.initial.contiguous().reshape(-1).view(torch.uint8).any())

    @property
    def dtype(self) -> str:
        """The element type as the manifest names it."""
        name = dtype_name(self.initial.dtype)
        return complex_name(name) if self.is_complex else name

    @property
    def shape(self) -> list[int]:
        """As the manifest has it: without the dimension of both parts of complex numbers."""
        return list(self.initial.shape[:-1] if self.is_complex else self.initial.shape)

    @property
    def preview(self) -> str:
        """The first initial values, for people."""
        values = of_pairs(self.initial) if self.is_complex else self.initial
        shown = ", ".join(_previewed(value) for value in values.reshape(-1)[:_PREVIEWED].tolist())
        return shown + (", ..." if values.numel() > _PREVIEWED else "")


def _previewed(value: bool | float | complex) -> str:
    if isinstance(value, complex):
        return f"{value.real:.6g}{value.imag:+.6g}j"
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower()


def dtype_name(dtype: torch.dtype) -> str:
    """PyTorch's name without the module; UnsupportedError for types that the runtime lacks."""
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
    state = [
        StateBuffer(name, eager.initial(name), name in eager.complex_buffers)
        for name in names
        if name in changed
    ]
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
