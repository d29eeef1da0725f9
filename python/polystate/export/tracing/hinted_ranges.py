"""Ranges of ``Dim.AUTO`` and ``Dim.DYNAMIC``, known while a method is traced.

torch.export applies them only after the trace. Until then no number that depends on such a size has
an upper limit, such as the number of nonzero elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch._export.non_strict_utils import make_fake_inputs
from torch.export import _trace
from torch.export.dynamic_shapes import _DimHint
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from polystate.export.tracing.dimensions import combined_arguments, visit_dimensions


@contextlib.contextmanager
def hinted_ranges() -> Iterator[None]:
    """Gives sizes their ranges as soon as torch.export has made them, within the block."""
    make_inputs: Any = make_fake_inputs

    def with_ranges(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, **rest: Any) -> Any:
        made = make_inputs(module, args, kwargs, dynamic_shapes, **rest)
        mode, fake_args, fake_kwargs = made[:3]
        if dynamic_shapes:
            combined = combined_arguments(module, fake_args, fake_kwargs, dynamic_shapes)
            visit_dimensions(_narrow, combined, dynamic_shapes)
            mode.shape_env._update_version_counter()
        return made

    with mock.patch.object(_trace, make_inputs.__name__, with_ranges):
        yield


def _narrow(tensor: torch.Tensor, dimension: int, dim: Any) -> None:
    size = tensor.shape[dimension]
    if isinstance(dim, _DimHint) and isinstance(size, torch.SymInt):
        low = 0 if dim.min is None else dim.min
        high = int_oo if dim.max is None else dim.max
        size.node.shape_env.var_to_range[size.node._expr] &= ValueRanges(low, high)
