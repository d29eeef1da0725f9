"""The passes of this project's own over each method's program, in their order.

Each is applied once, in place. What it needs and keeps is data here, and is argued in its module.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from dataclasses import dataclass

from torch.export import ExportedProgram

from polystate.errors import ExportError
from polystate.export.diagnosis.explain import explain
from polystate.export.lowering.branch_results import copy_branch_results
from polystate.export.lowering.constant_weights import compute_constant_weights
from polystate.export.lowering.edge_cleanup import (
    drop_constant_inputs,
    drop_full_copies,
    return_written_inputs,
)
from polystate.export.lowering.empty_parts import shape_joined_parts
from polystate.export.lowering.fused_linears import fuse_into_linears
from polystate.export.lowering.gelus import write_out_tanh_gelus
from polystate.export.lowering.integer_divisions import rewrite_integer_divisions
from polystate.export.lowering.integer_powers import write_out_integer_powers
from polystate.export.lowering.kernel_limits import (
    compute_bfloat16_layers_in_single,
    compute_float16_layers_in_single,
    compute_float16_norms_in_single,
    keep_kernels_limits,
)
from polystate.export.lowering.layer_norms import spread_layer_norms
from polystate.export.lowering.linear_rows import vectors_to_rows
from polystate.export.lowering.memory_order import copy_row_major, let_views_copy, store_row_major
from polystate.export.lowering.old_values import copy_old_values
from polystate.export.lowering.planar_convolutions import convolve_planes
from polystate.export.lowering.replaced_kernels import call_replaced_kernels
from polystate.export.lowering.scalar_operands import keep_precise_scalars
from polystate.export.lowering.size_arithmetic import write_out_size_arithmetic
from polystate.export.lowering.transposes import drop_undone_transposes
from polystate.export.lowering.zero_dimensional import give_dimensions


class Form(enum.Enum):
    """What a program is when a pass takes it."""

    FUNCTIONAL = "the functional program before it is lowered"
    EDGE = "the edge program after delegation"


class Keeps(enum.Enum):
    """What a pass leaves as it was."""

    VALUES = "what the method computes"
    ROUNDED_VALUES = "what the method computes, to rounding"


_EXECUTORCH = frozenset({"portable", "xnnpack"})
_ALL = _EXECUTORCH | {"aoti"}


@dataclass(frozen=True)
class Rewrite:
    """A pass over a method's program, which it changes in place."""

    run: Callable[..., None]  # takes the program and, with `takes_state`, the names of its state
    needs: Form
    keeps: Keeps = Keeps.VALUES
    backends: frozenset[str] = _EXECUTORCH
    takes_state: bool = False


REWRITES = (
    Rewrite(store_row_major, Form.FUNCTIONAL, backends=_ALL),
    Rewrite(copy_row_major, Form.FUNCTIONAL),
    Rewrite(let_views_copy, Form.FUNCTIONAL),
    Rewrite(convolve_planes, Form.FUNCTIONAL, backends=frozenset({"xnnpack"})),
    Rewrite(compute_constant_weights, Form.FUNCTIONAL, backends=_ALL, takes_state=True),
    Rewrite(rewrite_integer_divisions, Form.FUNCTIONAL, backends=_ALL),
    Rewrite(write_out_integer_powers, Form.FUNCTIONAL, backends=_ALL),
    Rewrite(keep_precise_scalars, Form.FUNCTIONAL),
    Rewrite(write_out_size_arithmetic, Form.FUNCTIONAL, backends=_ALL),
    Rewrite(give_dimensions, Form.FUNCTIONAL),
    Rewrite(keep_kernels_limits, Form.FUNCTIONAL),
    Rewrite(compute_bfloat16_layers_in_single, Form.FUNCTIONAL),
    Rewrite(compute_float16_layers_in_single, Form.FUNCTIONAL, backends=frozenset({"portable"})),
    Rewrite(
        compute_float16_norms_in_single,
        Form.FUNCTIONAL,
        backends=frozenset({"xnnpack"}),
        takes_state=True,
    ),
    Rewrite(shape_joined_parts, Form.FUNCTIONAL),
    Rewrite(vectors_to_rows, Form.FUNCTIONAL),
    Rewrite(drop_undone_transposes, Form.FUNCTIONAL),
    Rewrite(fuse_into_linears, Form.FUNCTIONAL, Keeps.ROUNDED_VALUES, backends=_ALL),
    Rewrite(spread_layer_norms, Form.FUNCTIONAL, Keeps.ROUNDED_VALUES),
    Rewrite(
        write_out_tanh_gelus,
        Form.FUNCTIONAL,
        Keeps.ROUNDED_VALUES,
        backends=frozenset({"xnnpack"}),
    ),
    Rewrite(return_written_inputs, Form.EDGE),
    Rewrite(drop_constant_inputs, Form.EDGE),
    Rewrite(drop_full_copies, Form.EDGE),
    Rewrite(call_replaced_kernels, Form.EDGE),
    Rewrite(copy_branch_results, Form.EDGE),
    Rewrite(copy_old_values, Form.EDGE),
)


def rewrite_program(
    name: str, program: ExportedProgram, form: Form, backend: str, state: Collection[str]
) -> None:
    """Applies the passes that a backend has for a form to a method's program, in place.

    Raises
    ------
    ExportError
        With the method and the pass that failed.
    """
    for rewrite in REWRITES:
        if rewrite.needs != form or backend not in rewrite.backends:
            continue
        try:
            rewrite.run(program, *([state] if rewrite.takes_state else []))
        except Exception as error:
            raise ExportError(
                f"lowering method '{name}' for {backend} failed in {rewrite.run.__name__}: "
                f"{explain(error)}"
            ) from error
