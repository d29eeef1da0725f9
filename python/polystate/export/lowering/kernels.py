"""Operators of PyTorch that the runtime has kernels of, beside those of ExecuTorch's libraries."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch
from executorch.exir.operator.convert import to_out_variant

from polystate import _core

# Of ExecuTorch's, those outside of the core ATen set.
_OF_EXECUTORCH: tuple[torch._ops.OpOverload, ...] = (
    torch.ops.aten.bitwise_left_shift.Tensor,
    torch.ops.aten.bitwise_left_shift.Tensor_Scalar,
    torch.ops.aten.bitwise_right_shift.Tensor,
    torch.ops.aten.bitwise_right_shift.Tensor_Scalar,
    torch.ops.aten.var_mean.correction,
)


@functools.cache
def operators_with_kernels() -> tuple[torch._ops.OpOverload, ...]:
    """The operators that an ExecuTorch program may have beside the core ATen set."""
    return (*_OF_EXECUTORCH, *own_kernels())


@functools.cache
def own_kernels() -> tuple[torch._ops.OpOverload, ...]:
    """Those whose kernels are ours (src/engine/executorch/aten), in the form that returns."""
    names = {schema.partition("(")[0] for schema in _core.executorch_operators()}
    return tuple(
        operator
        for name in sorted({name.partition(".")[0] for name in names if name.startswith("aten::")})
        for operator in _overloads(name.removeprefix("aten::"))
        if to_out_variant(operator)[0].name() in names
    )


def _overloads(packet: str) -> Iterator[torch._ops.OpOverload]:
    """Those that return new tensors, and have a form that fills given ones."""
    operators = getattr(torch.ops.aten, packet)
    for overload in operators.overloads():
        operator = getattr(operators, overload)
        try:
            to_out_variant(operator)
        except (AssertionError, RuntimeError):
            continue
        if not any(argument.is_out for argument in operator._schema.arguments):
            yield operator
