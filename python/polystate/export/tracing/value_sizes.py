"""Upper limits of sizes that depend on values, for which memory is planned.

PyTorch has them for some operators always, and for others only if their arguments have fixed sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental.symbolic_shapes import constrain_range
from torch.utils._sympy.numbers import int_oo

from polystate.export.graph.operands import given_arguments
from polystate.export.graph.sizes import is_unbacked, limits, to_sympy

aten = torch.ops.aten

# Computes an operator on fake tensors, of a mode.
Fake = Callable[..., Any]


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Gives such sizes of every operator an upper limit, within the block."""
    fakes: dict[Any, Fake] = op_implementations_dict
    wrapped = {
        aten.masked_select.default: _masked_select(fakes[aten.masked_select.default]),
        **{operator: _with_parts(fakes[operator]) for operator in _PARTS},
    }
    with mock.patch.dict(fakes, wrapped):
        yield


# Their results are parts of their first argument: no longer than it is.
_PARTS = (
    aten._unique.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
)


def _masked_select(fake: Fake) -> Fake:
    """Limit the result to the elements of tensor and mask after broadcasting.

    PyTorch limits it to those of the tensor alone, which may be the smaller one.
    """

    def masked_select(mode: Any, operator: Any, x: Tensor, mask: Tensor) -> Any:
        shape = torch.broadcast_shapes(x.shape, mask.shape)  # type: ignore[no-untyped-call]
        x, mask = x.expand(shape), mask.expand(shape)
        result = fake(mode, operator, x, mask)
        _limit(result.shape[0], _largest(x.numel()))
        return result

    return masked_select


def _with_parts(fake: Fake) -> Fake:
    def parts(mode: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
        given = given_arguments(operator, args, kwargs)
        x = given["self"]
        if given.get("dim") is not None:
            given["dim"] %= max(x.dim(), 1)  # PyTorch's own is wrong for negative ones
        results = fake(mode, operator, *given.values())
        for dim, size in enumerate(results[0].shape):
            _limit(size, _largest(x.numel() if given.get("dim") is None else x.shape[dim]))
        return results

    return parts


def _limit(size: Any, largest: int | None) -> None:
    if largest is not None and is_unbacked(size) and to_sympy(size).is_Symbol:
        constrain_range(size, min=0, max=largest)


def _largest(size: Any) -> int | None:
    """The largest value of a size; None where it has none."""
    if isinstance(size, int):
        return size
    upper = limits(size).upper
    return None if upper == int_oo else int(upper)
