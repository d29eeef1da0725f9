"""Compares kernels of PyTorch's operators with PyTorch's own, call by call."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from polystate import _core
from polystate.export.lowering.kernels import own_kernels
from polystate.export.lowering.replaced_kernels import filling_form, kernel_name
from tests.support.operator_entries import operator_entries

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTEGERS, torch.bool)


# By which tests make their values, too.
_COMMON = """
    add sub mul div neg sign round clamp relu eq ne lt le gt ge isnan isinf
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
"""
COMMON = frozenset(_COMMON.split())


def compare_samples(
    names: Sequence[str],
    dtypes: Sequence[torch.dtype] = ALL,
    most: int = 20,
    *,
    tolerance: tuple[float, float] | None = None,
    with_common: bool = False,
) -> dict[str, int]:
    """Run PyTorch's samples of operators, and count the calls of kernels that were compared.

    Parameters
    ----------
    names
        Of entries of ``op_db``, without their variants.
    most
        Samples of an entry and a type.
    tolerance, with_common
        See `ComparedKernels`.

    Returns
    -------
    By the operator's name, how many calls gave what PyTorch's kernel does.
    """
    compared = ComparedKernels(tolerance, with_common=with_common)
    for info in (info for info in operator_entries() if info.name in names):
        for dtype in (dtype for dtype in dtypes if dtype in info.dtypes):
            torch.manual_seed(0)
            for sample in itertools.islice(info.sample_inputs("cpu", dtype), most):
                with torch.no_grad(), compared:
                    info.op(sample.input, *sample.args, **sample.kwargs)
    return compared.counts


class ComparedKernels(TorchDispatchMode):
    """While it is entered, what PyTorch computes by an operator that has a kernel is compared.

    Parameters
    ----------
    tolerance
        Relative and absolute; None: of each type.
    with_common
        Whether operators that are `COMMON` are compared.
    """

    def __init__(
        self, tolerance: tuple[float, float] | None = None, *, with_common: bool = False
    ) -> None:
        super().__init__()
        self._tolerance = tolerance or (None, None)
        self.counts: dict[str, int] = {}
        left_out = frozenset[str]() if with_common else COMMON
        self._operators = frozenset(
            operator
            for operator in own_kernels()
            if operator._schema.name.partition("::")[2] not in left_out
        )

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        expected = operator(*args, **kwargs)
        if operator in self._operators:
            results = expected if isinstance(expected, tuple | list) else (expected,)
            found = call_kernel(operator, args, kwargs, results)
            for value, right in zip(found, results, strict=True):
                told = f"{operator}({_text(args)}, {_text(kwargs)})"
                relative, absolute = self._tolerance
                torch.testing.assert_close(
                    value,
                    right,
                    rtol=relative,
                    atol=absolute,
                    equal_nan=True,
                    msg=lambda m, told=told: f"{told}: {m}",
                )
            self.counts[str(operator)] = self.counts.get(str(operator), 0) + 1
        return expected


def call_kernel(
    operator: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    like: Sequence[Tensor],
) -> list[Tensor]:
    """The results of an operator's kernel, which have at most the sizes of `like` and its types.

    What it does not write is NaN, or bytes of 0xA5, which no sample gives throughout.
    """
    schema = operator._schema
    given = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    given |= dict(zip((a.name for a in schema.arguments), args, strict=False)) | kwargs
    results = [_unwritten(each) for each in like]
    filling = filling_form(operator)
    arguments = [_plain(given[a.name], a) for a in filling._schema.arguments if not a.is_out]
    shapes = _core.call_operator(kernel_name(operator), [*arguments, *results], len(results))
    return [
        result.flatten()[: torch.Size(shape).numel()].reshape(shape)
        for result, shape in zip(results, shapes, strict=True)
    ]


def _unwritten(like: Tensor) -> Tensor:
    """A tensor of the same shape and type in which every element shows that it was not written."""
    if like.is_floating_point() or like.is_complex():
        return torch.full(like.shape, math.nan, dtype=like.dtype)
    if like.dtype == torch.bool:
        return ~like.contiguous()  # of two values, the one that is wrong
    count = like.numel() * like.element_size()
    return torch.full((count,), 0xA5, dtype=torch.uint8).view(like.dtype).reshape(like.shape)


def _plain(value: Any, argument: Any) -> Any:
    """An argument as a program has it: tensors that may be None in a list, others in a tuple."""
    if isinstance(value, Tensor):
        return value.contiguous()
    if str(argument.type) == "Tensor":  # a number, which has the type of those beside it
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    if isinstance(value, torch.dtype | torch.layout | torch.device | torch.memory_format):
        return 0
    if isinstance(value, list | tuple):
        values = [each.contiguous() if isinstance(each, Tensor) else each for each in value]
        return values if str(argument.type) == "List[Optional[Tensor]]" else tuple(values)
    return value


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of {list(value.shape)}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(each)}" for key, each in value.items())
    return str(value)
