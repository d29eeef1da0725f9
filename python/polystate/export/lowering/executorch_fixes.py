"""Corrections of executorch 1.5.1 that hold while a program is lowered.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
import torch._export.pass_base
import torch._meta_registrations
from executorch.exir import pass_base, tensor
from executorch.exir.backend.utils import is_same_node
from executorch.exir.emit import _emitter
from executorch.exir.emit._emitter import _Emitter, _TopLevelEmitter
from executorch.exir.passes import (
    convert_constant_dim_order_pass,
    executorch_prim_ops_registry,
    replace_view_copy_with_view_pass,
)
from executorch.exir.program import _program
from executorch.exir.schema import Instruction, KernelCall
from executorch.exir.tensor import TensorSpec, dim_order_from_stride
from executorch.exir.verification import verifier
from torch import nn
from torch._subclasses import fake_impls
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from polystate.export.graph.sizes import is_unbacked, shape_environment, usual_values
from polystate.export.lowering import xnnpack_fixes
from polystate.export.lowering.kernels import own_kernels
from polystate.export.lowering.row_decompositions import ROW_OPERATORS
from polystate.export.lowering.weight_keys import distinct_keys
from polystate.export.tracing import shape_rules
from polystate.export.tracing.decompositions.table import DECOMPOSED, OF_ONE_TYPE

aten = torch.ops.aten

# PyTorch traces some operators on sizes as functions of Python, such as torch.sym_min. ExecuTorch
# replaces these; its verifier runs before that, does not know them, and fails without a message.
_OPERATORS_ON_SIZES = {
    *verifier._EXECUTORCH_SYM_OPS,
    *executorch_prim_ops_registry._PYTHON_SYM_OPS_TO_EXECUTORCH_SYM_OPS,
}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """All corrections, for the length of the block."""
    with (
        mock.patch.object(
            _program,
            "lift_constant_tensor_pass",
            _in_placeholder_order(_program.lift_constant_tensor_pass),
        ),
        distinct_keys(),
        xnnpack_fixes.applied(),
        mock.patch.object(
            convert_constant_dim_order_pass, "_update_placeholder_meta", _mark_row_by_row
        ),
        mock.patch.object(
            _program,
            "_default_decomposition_table",
            _without_our_kernels(_with_our_decompositions(_program._default_decomposition_table)),
        ),
        mock.patch.object(
            _TopLevelEmitter, "__init__", _without_structures(_TopLevelEmitter.__init__)
        ),
        mock.patch.object(
            _Emitter,
            "_tensor_spec_to_evalue",
            _with_state_apart(_Emitter._tensor_spec_to_evalue),
        ),
        mock.patch.multiple(
            _Emitter,
            _emit_control_flow=_with_maps_as_scans(_Emitter._emit_control_flow),
            _emit_scan=_counting_from_zero(_Emitter._emit_scan),
        ),
        mock.patch.dict(
            op_implementations_dict,
            {
                aten.nonzero.default: _row_by_row(op_implementations_dict[aten.nonzero.default]),
                aten.slice_copy.Tensor: _slice_copy,
                aten.view_copy.default: _view_copy,
            },
        ),
        mock.patch.object(tensor, "dim_order_from_stride", _order_of_any_sizes),
        mock.patch.object(_emitter, "dim_order_from_stride", _order_of_any_sizes),
        mock.patch.object(
            replace_view_copy_with_view_pass, "dim_order_from_stride", _order_of_any_sizes
        ),
        mock.patch.object(verifier, "_EXECUTORCH_SYM_OPS", _OPERATORS_ON_SIZES),
        # It refuses operators in branches that a partitioner kept and did not take; kernels exist.
        mock.patch.object(
            _program, "_sanity_check_graph_for_non_decomp_ops", lambda *_, **__: None
        ),
        mock.patch.object(
            replace_view_copy_with_view_pass,
            "_is_view_copy",
            _is_of_one_kind(replace_view_copy_with_view_pass._is_view_copy),
        ),
        mock.patch.object(pass_base, "_unstack_pytree", _first_rows),
        mock.patch.object(torch._export.pass_base, "_unstack_pytree", _first_rows),
    ):
        try:
            yield
        finally:
            _forget_graphs()


def _forget_graphs() -> None:
    """Lets go of the graphs of an export, which would stay in memory as long as the process.

    ExecuTorch keeps all nodes that it has compared, PyTorch the operators that were called with a
    graph: branches and delegates.
    """
    is_same_node.cache_clear()
    cache = FakeTensorMode.cache
    for call in [each for each in cache if any(isinstance(x, nn.Module) for x in each.key)]:
        del cache[call]


def _first_rows(mapped: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Return the first row of each tensor, which is all that a trace of ``map`` needs.

    ExecuTorch takes all rows, which fixes their number.
    """
    return [[each.select(0, 0) for each in mapped]]


def _with_maps_as_scans(emit: Any) -> Any:
    """Emits ``map`` as a ``scan`` that carries nothing.

    ExecuTorch's own takes one tensor to map over, and one result (``AssertionError``).
    """

    def emit_as_scan(emitter: Any, target: Any, args: Sequence[Any], kwargs: Any) -> Any:
        if target is torch.ops.higher_order.map_impl:
            body, mapped, others = args
            target, args = torch.ops.higher_order.scan, (body, [], mapped, others)
        return emit(emitter, target, args, kwargs)

    return emit_as_scan


def _counting_from_zero(emit_scan: Any) -> Any:
    """Has each loop begin with its first row.

    ExecuTorch sets a loop's counter back when it ends. The call after one that a check ended in
    the middle would leave out the rows before that, and give other numbers without an error.
    """

    def emit(emitter: Any, args: Sequence[Any], outputs: Any) -> Any:
        subtract, _ = emitter._get_operator(name="executorch_prim::sub", overload="Scalar")
        begin = Instruction(KernelCall(subtract, args=[]))
        instructions = emitter.chain.instructions
        instructions.append(begin)
        results = emit_scan(emitter, args, outputs)
        counter = instructions[-1].instr_args.args[0]  # what the loop itself sets back
        begin.instr_args.args = [counter, counter, counter]
        return results

    return emit


def _in_placeholder_order(lift: Any) -> Any:
    """Sorts the specs of lifted constants as their placeholders are.

    In a method without inputs they come in another order. Such a program fails to verify
    (``SpecViolationError``), or would swap two constants.
    """

    def lift_in_order(program: ExportedProgram) -> ExportedProgram:
        program = lift(program)
        position = {
            node.name: i for i, node in enumerate(program.graph.nodes) if node.op == "placeholder"
        }
        program.graph_signature.input_specs.sort(key=lambda spec: position[spec.arg.name])
        return program

    return lift_in_order


def _mark_row_by_row(program: ExportedProgram, name: str, _: InputKind) -> None:
    """Notes that a constant lies row by row now, whatever kind of constant it is.

    ExecuTorch looks for a buffer that is not persistent among other constants, and does not find it
    (``RuntimeError``). Only constants that no operator uses still lie otherwise here.
    """
    arguments = {
        spec.arg.name for spec in program.graph_signature.input_specs if spec.target == name
    }
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in arguments:
            node.meta["val"] = node.meta["val"].contiguous()


def _with_our_decompositions(table: Any) -> Any:
    """Adds our own decompositions to ExecuTorch's, whose results may contain such operators.

    The kernel of `var_mean`, for instance, gives NaN for the mean of one element. And decomposed
    attention has results with the sequence outermost: a view that joins it with the batch fails,
    unless our decomposition of `view` copies.
    """

    def table_with_our_decompositions() -> dict[Any, Any]:
        ours = {op: each for op, each in DECOMPOSED.items() if op not in OF_ONE_TYPE}
        return {**table(), **ours, **ROW_OPERATORS}

    return table_with_our_decompositions


def _without_our_kernels(table: Any) -> Any:
    """Keeps operators that our runtime has kernels of, for every backend.

    ExecuTorch keeps them where there is no partitioner. For XNNPACK it decomposes a second time, by
    another table, and does not keep them there.
    """

    def table_without_our_kernels() -> dict[Any, Any]:
        kept = frozenset(own_kernels())
        return {operator: each for operator, each in table().items() if operator not in kept}

    return table_without_our_kernels


def _solution(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the size of X in A X = B, or X A = B."""
    batch: Any = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # type: ignore[no-untyped-call]
    return b.new_empty((*batch, *b.shape[-2:]))


def _reflectors(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rank: Any = torch.sym_min(*a.shape[-2:])  # type: ignore[no-untyped-call]
    factors = a.new_empty((*a.shape[:-2], rank))
    return a.new_empty(a.shape), factors


def _least_squares(*args: Any) -> list[torch.Tensor]:
    return [each.new_empty(each.shape) for each in shape_rules.least_squares(*args)]


def _fake(result: Any) -> Any:
    """Returns a function by which PyTorch computes an operator on tensors without values."""

    def run(mode: FakeTensorMode, _: Any, *args: Any, **kwargs: Any) -> Any:
        with mode:
            return result(*args)

    return run


# For operators whose order of results does not come from the function that is replaced below.
_ROW_MAJOR_FAKES = {
    torch.ops.aten.cholesky_inverse.default: _fake(lambda a, *_: a.new_empty(a.shape)),
    torch.ops.aten.cholesky_solve.default: _fake(lambda b, a, *_: _solution(a, b)),
    torch.ops.aten.geqrf.default: _fake(_reflectors),
    torch.ops.aten.linalg_lstsq.default: _fake(_least_squares),
    torch.ops.aten.linalg_solve_triangular.default: _fake(_solution),
}


@contextlib.contextmanager
def matrices_row_by_row(programs: Iterable[ExportedProgram]) -> Iterator[None]:
    """Lets the results of linear algebra, too, lie row by row, as kernels write them.

    PyTorch's lie column by column, for LAPACK; kernels that read them would refuse them. What it
    remembers of operators that it traced, in these programs too, is forgotten.
    """
    environments = [shape_environment(program) for program in programs]

    def forget() -> None:
        FakeTensorMode.cache_clear()
        for environment in environments:
            if environment is not None:
                environment.fake_tensor_cache.clear()

    registrations: Any = torch._meta_registrations
    strides_for = registrations.make_contiguous_strides_for

    def row_major_strides_for(shape: Any, row_major: bool = True) -> Any:
        return strides_for(shape)

    replaced = mock.patch.object(
        registrations, "make_contiguous_strides_for", row_major_strides_for
    )
    forget()
    try:
        with replaced, mock.patch.dict(fake_impls.op_implementations_dict, _ROW_MAJOR_FAKES):
            yield
    finally:
        forget()


def _without_structures(make: Any) -> Any:
    """Leaves out how a method's arguments and results are nested, which our runtime does not read.

    ExecuTorch fails on named tuples and dataclasses, since it has no form as text for them.
    """

    def make_without_structures(emitter: Any, *args: Any, **kwargs: Any) -> None:
        unknown = property(lambda _: types.SimpleNamespace(in_spec=None, out_spec=None))
        with mock.patch.object(ExportedProgram, "call_spec", unknown):
            make(emitter, *args, **kwargs)

    return make_without_structures


def _with_state_apart(emit: Any) -> Any:
    """Looks up initial values of state in the table of state, not in that of constants.

    Equal bytes are stored once; state and constants have a table each. ExecuTorch looks up state
    that has a name in the table of constants. Where a constant has the same bytes, the state would
    get the constant's index into the table of state, and start with the values of another state.
    """

    def emit_with_state_apart(emitter: Any, spec: TensorSpec, *args: Any, **kwargs: Any) -> Any:
        if spec.mem_id is None or spec.mem_offset is None:
            return emit(emitter, spec, *args, **kwargs)
        emitted = emitter.program_state
        of_state = emitted.cached_spec_mutable_hash_values
        with mock.patch.object(emitted, "cached_spec_hash_values", of_state):
            return emit(emitter, spec, *args, **kwargs)

    return emit_with_state_apart


def _row_by_row(fake: Any) -> Any:
    """Lets the result of ``nonzero`` lie as the kernel writes it: a row for each nonzero element.

    PyTorch's lies column by column. The kernel ignores that order, so that rows and columns would
    be exchanged.
    """

    def nonzero_by_rows(*args: Any) -> Any:
        columns = fake(*args)
        return columns.new_empty(columns.shape)

    return nonzero_by_rows


def _order_of_any_sizes(strides: Sequence[Any]) -> Any:
    """Orders dimensions where strides depend on values, too.

    ExecuTorch refuses to compare such strides, as a size may be 0 or 1. Here they are compared at
    usual sizes.
    """
    if any(is_unbacked(stride) for stride in strides):
        strides = usual_values(strides)
    return dim_order_from_stride(strides)


def _is_of_one_kind(is_view: Any) -> Any:
    """Keeps a copy in another shape if just one of both shapes varies: a view would be refused."""

    def is_view_of_one_kind(node: Node) -> bool:
        if not is_view(node):
            return False
        base = node.args[0]
        assert isinstance(base, Node)
        kinds = {tensor.determine_tensor_dynanism(each.meta["val"].shape) for each in (node, base)}
        return len(kinds) == 1

    return is_view_of_one_kind


def _slice_copy(mode: Any, operator: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Copies a part of a dimension whose size varies.

    PyTorch's form refuses sizes that depend on values. For other sizes it lets the example decide
    how large the part is.
    """
    dim = args[0] if args else kwargs.get("dim", 0)
    if x.dim() == 0 or not isinstance(x.shape[dim], torch.SymInt):
        with mode:
            return operator.decompose(x, *args, **kwargs)
    part = op_implementations_dict[aten.slice.Tensor](mode, aten.slice.Tensor, x, *args, **kwargs)
    return part.new_empty(part.shape)


def _view_copy(_mode: Any, _operator: Any, x: torch.Tensor, size: Sequence[Any]) -> torch.Tensor:
    """Copies a tensor into a shape.

    PyTorch's form computes the last size from the others, though it was given.
    """
    given = math.prod(each for each in size if each != -1)
    return x.new_empty([x.numel() // given if each == -1 else each for each in size])
