"""From functional graphs to an ExecuTorch program with one state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from executorch.exir.pass_base import PassResult
from executorch.exir.passes import MemoryPlanningPass
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind

from polystate.artifact import FileContent
from polystate.errors import ExportError
from polystate.export.diagnosis.explain import explain
from polystate.export.diagnosis.problems import problem_of
from polystate.export.graph.changes import separated_changes
from polystate.export.graph.sizes import without_new_guards
from polystate.export.lowering import (
    edge_passes,
    executorch_fixes,
    xnnpack_passes,
    xnnpack_patterns,
)
from polystate.export.lowering.decomposed_once import decomposed_once
from polystate.export.lowering.in_place import Updates, update_in_place
from polystate.export.lowering.kernels import (
    operators_with_kernels,
    own_kernels,
    without_kernel,
)
from polystate.export.lowering.largest_sizes import LargestSizes, require_largest_sizes
from polystate.export.lowering.lowered import Lowered, readable
from polystate.export.lowering.memory_order import has_column_major_results
from polystate.export.lowering.partitioner import StateSafePartitioner, xnnpack_partitioner
from polystate.export.lowering.passes import (
    Pass,
    Passes,
    as_pass,
    transformed,
    valid_after_passes,
)
from polystate.export.lowering.planned_graph import ACTIVATIONS, ARENAS, parts_where_kept
from polystate.export.lowering.rewrites import Form, rewrite_program
from polystate.export.lowering.scalar_operands import keep_precise_scalars
from polystate.export.state import StateBuffer

PROGRAM_FILE = "model.pte"


class _StatePlanning(MemoryPlanningPass):
    """Plans memory for all methods over one state, updated in place where that is sound."""

    def __init__(self, stored: frozenset[str]) -> None:
        # Inputs stay where the caller has them.
        super().__init__(share_mutable_buffers=True, alloc_graph_input=False)
        self._stored = stored
        self.updates: list[Updates] = []

    def run(
        self,
        graph_module: torch.fx.GraphModule,
        graph_signature: ExportGraphSignature | None = None,
    ) -> PassResult:
        assert graph_signature is not None
        self.updates.append(update_in_place(graph_module, graph_signature))
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                name = graph_signature.inputs_to_buffers.get(node.name)
                if name in self._stored:
                    node.meta["et_init_buffer"] = True
        return super().run(graph_module, graph_signature)


def lower(
    programs: Mapping[str, ExportedProgram],
    state: Sequence[StateBuffer],
    backend: str,
    passes: Passes,
    keep_record: bool = False,
) -> Lowered:
    """Lowers every method into one program.

    Parameters
    ----------
    programs
        The methods' functional programs by their names. Passes may change them in place.
    state
        The buffers that the methods share.
    backend
        "portable" or "xnnpack".
    passes
        The user's own.
    keep_record
        Whether the graphs between the stages and an ETRecord are kept.

    Raises
    ------
    ExportError
        With the method that cannot be lowered, and why.
    """
    names = frozenset(buffer.name for buffer in state)
    graphs: dict[str, dict[str, str]] = {name: {} for name in programs}

    def record(stage: str, of: Callable[[str], ExportedProgram]) -> None:
        if keep_record:
            for name in programs:
                graphs[name][stage] = readable(of(name))

    record("1_functional", lambda name: programs[name])
    for name, program in programs.items():
        require_largest_sizes(name, program)
    sizes = {name: LargestSizes(program) for name, program in programs.items()}
    before = {
        name: transformed(name, program, passes.before_lowering)
        for name, program in programs.items()
    }
    with _as_executorch_takes_them(before):
        for name, program in before.items():
            rewrite_program(name, program, Form.FUNCTIONAL, backend, names)
        with _explained(before, names, backend):
            edge = _to_edge(before, names, backend, keep_record)
        if passes.after_lowering:
            edge = _transformed_edge(edge, list(programs), passes.after_lowering)
        for name in programs:
            rewrite_program(name, edge.exported_program(name), Form.EDGE, backend, names)
        record("2_edge", edge.exported_program)
        planning = _StatePlanning(frozenset(b.name for b in state if not b.zeros))
        config = ExecutorchBackendConfig(
            memory_planning_pass=planning, emit_mutable_buffer_names=True, sym_shape_eval_pass=sizes
        )
        with _explained(before, names, backend):
            lowered = edge.to_executorch(config)
    record("3_planned", lowered.exported_program)
    plans = {plan.name: plan for plan in lowered.executorch_program.execution_plan}
    return Lowered(
        engine="executorch",
        file=PROGRAM_FILE,
        content=FileContent(lowered.write_to_file),
        updates=dict(zip(programs, planning.updates, strict=True)),
        activation_bytes={
            name: int(plan.non_const_buffer_sizes[ACTIVATIONS]) for name, plan in plans.items()
        },
        operators=sorted({_operator_name(op) for plan in plans.values() for op in plan.operators}),
        delegates=sorted({d.id for plan in plans.values() for d in plan.delegates}),
        graphs=graphs,
        memory_plan=_memory_plan(lowered, list(programs)),
        etrecords=_etrecords(lowered, list(programs)) if keep_record else {},
        parts=parts_where_kept(programs, lowered.exported_program),
    )


def undelegated(
    programs: Mapping[str, ExportedProgram], state: Sequence[StateBuffer], backend: str
) -> dict[str, ExportedProgram]:
    """The edge programs of a backend, without delegates: PyTorch's operators can run them.

    Parameters
    ----------
    programs
        The methods' functional programs by their names, which are changed in place.
    backend
        "portable" or "xnnpack".

    Raises
    ------
    ExportError
        As `lower`.
    """
    names = frozenset(buffer.name for buffer in state)
    with _as_executorch_takes_them(programs):
        for name, program in programs.items():
            rewrite_program(name, program, Form.FUNCTIONAL, backend, names)
        with _explained(programs, names, backend):
            edge = _to_edge(programs, names, "portable", keep_record=False)
        for name in programs:
            rewrite_program(name, edge.exported_program(name), Form.EDGE, backend, names)
    return {name: edge.exported_program(name) for name in programs}


@contextlib.contextmanager
def _as_executorch_takes_them(programs: Mapping[str, ExportedProgram]) -> Iterator[None]:
    """Makes programs such that delegates take them, and corrects ExecuTorch for the block."""
    with without_new_guards(), contextlib.ExitStack() as corrections:
        for program in programs.values():
            _prepare(program)
        if any(map(has_column_major_results, programs.values())):
            rows = executorch_fixes.matrices_row_by_row(programs.values())
            corrections.enter_context(rows)
        for correction in (
            executorch_fixes.applied(),
            xnnpack_patterns.not_looked_for(),
            xnnpack_passes.traced_where_they_change(),
            separated_changes(),
            decomposed_once(keep_precise_scalars),
            edge_passes.in_two_traces(),
        ):
            corrections.enter_context(correction)
        yield


def _prepare(program: ExportedProgram) -> None:
    """Lets delegates take a program's constants, of which each gets those that it uses.

    They take them out of tables that all methods share, and PyTorch's traces: the program gets its
    own. A delegate that uses a constant at several places has it several times, which PyTorch takes
    of buffers alone.
    """
    program._constants = dict(program.constants)
    program._state_dict = dict(program.state_dict)
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR:
            spec.kind, spec.persistent = InputKind.BUFFER, False


def _etrecords(
    program: ExecutorchProgramManager, methods: Sequence[str]
) -> dict[str, Callable[[str], None]]:
    """For each method, what writes its record to a path.

    ExecuTorch's Inspector reads of a record what belongs to the method ``forward``, and no other.
    """
    from executorch.devtools.etrecord import ETRecord  # takes a second

    whole = program.get_etrecord()
    edge = whole.edge_dialect_program

    def record_of(name: str) -> Any:
        return ETRecord(
            export_graph_id=whole.export_graph_id,
            edge_dialect_program=edge[name] if isinstance(edge, dict) else edge,
            _debug_handle_map={"forward": whole._debug_handle_map[name]},
            _delegate_map={"forward": whole._delegate_map[name]},
            _instruction_id_to_num_outs_map={
                "forward": whole._instruction_id_to_num_outs_map[name]
            },
        )

    return {name: record_of(name).save for name in methods}


def _memory_plan(program: ExecutorchProgramManager, methods: Sequence[str]) -> dict[str, Any]:
    """For each method, the bytes of its arenas and where each planned tensor lies."""
    plans: dict[str, Any] = {}
    for name in methods:
        graph_module = program.exported_program(name).graph_module
        sizes = graph_module.meta["non_const_buffer_sizes"]
        tensors = []
        for node in graph_module.graph.nodes:
            spec = node.meta.get("spec")
            if getattr(spec, "mem_offset", None) is not None:
                tensors.append(
                    {
                        "node": node.name,
                        "arena": ARENAS.get(spec.mem_id, str(spec.mem_id)),
                        "offset": spec.mem_offset,
                        "bytes": spec.allocated_memory,
                        "lifetime": list(spec.lifetime),
                    }
                )
        arenas = {ARENAS[i]: size for i, size in enumerate(sizes) if i in ARENAS}
        plans[name] = {"arenas": arenas, "tensors": tensors}
    return plans


def _to_edge(
    programs: Mapping[str, ExportedProgram], state: frozenset[str], backend: str, keep_record: bool
) -> EdgeProgramManager:
    partitioner = None
    if backend == "xnnpack":
        partitioner = [StateSafePartitioner(xnnpack_partitioner(), state)]
    # A linear outside a delegate has a fast kernel of its own; its decomposition has none.
    config = EdgeCompileConfig(
        preserve_ops=[torch.ops.aten.linear.default, *own_kernels()],
        _core_aten_ops_exception_list=list(operators_with_kernels()),
    )
    return to_edge_transform_and_lower(
        dict(programs),
        partitioner=partitioner,
        compile_config=config,
        generate_etrecord=keep_record,
    )


@contextlib.contextmanager
def _explained(
    programs: Mapping[str, ExportedProgram], state: frozenset[str], backend: str
) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the lowering raises many kinds
        problem = without_kernel(programs, error) or problem_of(error, programs.values())
        if problem is None:
            what = f"lowering {_culprit(programs, state, backend)} for {backend} failed"
            raise ExportError(f"{what}: {explain(error)}") from error
        what = f"{_culprit(programs, state, backend)} cannot be lowered for {backend}"
        refusal = ExportError(problem.told(what))
        refusal.example = problem.example
        raise refusal from error


def _culprit(programs: Mapping[str, ExportedProgram], state: frozenset[str], backend: str) -> str:
    """The first method that cannot be lowered by itself."""
    for name, program in programs.items():
        try:
            _to_edge({name: program}, state, backend, keep_record=False).to_executorch()
        except Exception:
            return f"method '{name}'"
    return f"the methods {', '.join(programs)}"


def _transformed_edge(
    edge: EdgeProgramManager, methods: Sequence[str], passes: Sequence[Pass]
) -> EdgeProgramManager:
    with valid_after_passes("after lowering"):
        return edge.transform({name: [as_pass(name, p) for p in passes] for name in methods})


def _operator_name(operator: Any) -> str:
    return f"{operator.name}.{operator.overload}" if operator.overload else str(operator.name)
