"""From functional graphs to machine code for AOTInductor: a library a method, each weight once.

State is an input of each method that touches it, and the method updates it in place: an input
cannot be folded like a constant. A weight is a constant, which the runtime gives to every library.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.export.pt2_archive._package import PT2ArchiveWriter
from torch.fx import Graph, GraphModule, Node

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.artifact import FileContent
from polystate.errors import ExportError, UnsupportedError
from polystate.export.diagnosis.explain import explain
from polystate.export.diagnosis.lines import line_of_nodes
from polystate.export.graph.operands import called_operator
from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.signature import changed_graphs, read_buffers, stored
from polystate.export.graph.sizes import lies_row_by_row, without_new_guards
from polystate.export.lowering import inductor_fixes, inductor_interface
from polystate.export.lowering.checks_first import write_after_checks
from polystate.export.lowering.in_place import Update, Updates
from polystate.export.lowering.kernels import executorch_has
from polystate.export.lowering.lowered import Lowered, readable
from polystate.export.lowering.passes import Passes, transformed
from polystate.export.lowering.planned_graph import parts_where_kept
from polystate.export.lowering.processor import Processor, processor_named
from polystate.export.lowering.rewrites import Form, rewrite_program
from polystate.export.state import StateBuffer, dtype_name

PROGRAM_FILE = "model.pt2"

_LIBRARIES = "data/aotinductor"
_PROCESSOR = "data/processor.json"
_PROFILE = "data/profile.json"
_WEIGHTS = "data/weights"
_STATE = "data/state"

operators = torch.ops.polystate

# Those that the engine has (src/engine/aoti/operator_shims.cc and check_shims.cc).
_OPERATORS = (
    operators.attention.default,
    operators.check.default,
    operators.check_page_copies.default,
    operators.check_places.default,
    operators.check_range.default,
    operators.check_size.default,
    operators.copy_after.default,
    operators.copy_pages.default,
    operators.cross_attention.default,
    operators.fft.default,
    operators.groupwise_embedding.default,
    operators.groupwise_linear.default,
    operators.inverse_real_fft.default,
    operators.layer_norm.default,
    operators.packed_embedding.default,
    operators.packed_linear.default,
    operators.paged_attention.default,
    operators.quantized_embedding.default,
    operators.quantized_linear.default,
    operators.real_fft.default,
    operators.recurrence.default,
    operators.write_pages.default,
)

_ATEN = torch.ops.aten

# PyTorch's operators that the engine itself calls for a library (linear_algebra_shims.cc in
# src/engine/aoti), to choose signs, or because libtorch's dispatcher does not take texts from one.
_OPERATORS_OF_PYTORCH = (
    _ATEN._linalg_eigh.default,
    _ATEN._linalg_svd.default,
    _ATEN.linalg_lstsq.default,
    _ATEN.linalg_qr.default,
)

# How C passes what a schema names.
_C_TYPES = {
    "Tensor": "AtenTensorHandle",
    "List[Tensor]": "const AtenTensorHandle*, int64_t",
    "Optional[Tensor]": "const AtenTensorHandle*",
    "Optional[float]": "const double*",
    "int": "int64_t",
    "float": "double",
    "bool": "int32_t",
    "str": "const char*",
    "Optional[str]": "const char**",
}


def _shim(operator: torch._ops.OpOverload) -> str:
    """The declaration of the function that a library calls for an operator."""
    name = operator._schema.name.partition("::")[2]
    arguments = [_C_TYPES[str(argument.type)] for argument in operator._schema.arguments]
    results = ["AtenTensorHandle*" for _ in operator._schema.returns]
    return f"AOTITorchError aoti_torch_cpu_{name}({', '.join([*arguments, *results])})"


_OPTIONS: dict[str, Any] = {
    "aot_inductor.package": True,
    # Not in the libraries, which would each have their own.
    "aot_inductor.package_constants_in_so": False,
    "aot_inductor.package_constants_on_disk_format": "pickle_weights",
    "aot_inductor.enable_line_tables": False,
    "aot_inductor.custom_ops_to_c_shims": {
        **{each: [_shim(each)] for each in (*_OPERATORS, *_OPERATORS_OF_PYTORCH)},
        None: [
            f"AOTITorchError {inductor_fixes.DISPATCHER}(const char*, const char*, StableIValue*)"
        ],
    },
    # The program has checks of its own, which say what they found.
    "scalar_asserts": False,
    # What is held in 16 bits is rounded to them before it is used, as by the other engine.
    "emulate_precision_casts": True,
    # As many threads as the process has where it runs, not where it was compiled. AOTInductor would
    # still ask how many there are here; where there is one, it leaves what must be done once to
    # every thread of the others.
    "cpp.dynamic_threads": True,
    "cpp.threads": 8,
}


def compile_methods(
    programs: Mapping[str, ExportedProgram],
    state: Sequence[StateBuffer],
    passes: Passes,
    target: str | None = None,
    *,
    profile: bool = False,
    keep_graphs: bool = False,
    constants_of: Callable[[str], Mapping[str, torch.Tensor]] = lambda _: {},
) -> Lowered:
    """Compiles every method, and packs them into one PT2 archive.

    Parameters
    ----------
    target
        The processors that it is for, as compilers name them (``-march``); None: this one.
    profile
        Whether the libraries say when their kernels begin and end.
    keep_graphs
        Whether the graphs that are compiled are kept.
    constants_of
        Values of constants of a method, by their names, which it gets instead of its own where
        they have their type and shape.

    Raises
    ------
    ExportError
        With the method that AOTInductor does not compile, and why.
    UnsupportedError
        For an operator that its engine does not have, and passes on graphs that there are none of.
    """
    if passes.after_lowering:
        raise UnsupportedError("backend 'aoti' has no graphs after lowering: passes_after_lowering")
    places = {buffer.name: i for i, buffer in enumerate(state)}
    programs = {
        name: transformed(name, program, passes.before_lowering)
        for name, program in programs.items()
    }
    _refuse_unknown_operators(programs)
    processor = processor_named(target)
    weights = _Weights()
    updates, libraries = {}, {}
    for name, program in programs.items():
        rewrite_program(name, program, Form.FUNCTIONAL, "aoti", places)
        updates[name] = _updates(program, places, copied=write_after_checks(program))
        _copy_to_rows(program)
        library, constants = _compiled(name, _flat(program, places), processor, profile)
        constants = _replaced(constants, constants_of(name))
        described = {constant: weights.add(value) for constant, value in constants.items()}
        libraries[name] = library, described

    def write_archive(file: IO[bytes]) -> None:
        with PT2ArchiveWriter(file) as writer:
            for name, (library, described) in libraries.items():
                writer.write_bytes(f"{_LIBRARIES}/{name}/method.so", library)
                writer.write_string(f"{_LIBRARIES}/{name}/weights.json", json.dumps(described))
            writer.write_string(_PROCESSOR, processor.requirements())
            if profile:
                writer.write_string(_PROFILE, "{}")
            for number, weight in enumerate(weights.stored):
                writer.write_bytes(f"{_WEIGHTS}/weight_{number}", _bytes_of(weight))
            for number, buffer in enumerate(state):
                if not buffer.zeros:
                    writer.write_bytes(f"{_STATE}/state_{number}", _bytes_of(buffer.initial))

    return Lowered(
        engine="aoti",
        file=PROGRAM_FILE,
        content=FileContent(write_archive),
        updates=updates,
        activation_bytes=dict.fromkeys(programs, 0),  # allocated as it goes
        operators=[],
        delegates=[],
        graphs={n: {"1_functional": readable(p)} for n, p in programs.items() if keep_graphs},
        parts=parts_where_kept(programs, programs.__getitem__),
    )


def stored_constants(archive: Path) -> dict[str, dict[str, torch.Tensor]]:
    """The constants in an archive of this form, by method and name."""
    found: dict[str, dict[str, torch.Tensor]] = {}
    with zipfile.ZipFile(archive) as files:
        places = {name.partition("/")[2]: name for name in files.namelist()}
        for place, name in places.items():
            if not (place.startswith(f"{_LIBRARIES}/") and place.endswith("/weights.json")):
                continue
            method = place.split("/")[-2]
            found[method] = {}
            for constant, described in json.loads(files.read(name)).items():
                content = files.read(places[f"{_WEIGHTS}/{described['file']}"])
                dtype = getattr(torch, described["dtype"])
                shape = described["shape"]
                found[method][constant] = (
                    torch.frombuffer(bytearray(content), dtype=dtype).reshape(shape)
                    if content
                    else torch.empty(shape, dtype=dtype)
                )
    return found


def _replaced(
    constants: Mapping[str, torch.Tensor], others: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Constants, with the values of others of one name and form."""
    replaced = dict(constants)
    for name, value in constants.items():
        other = others.get(name)
        if other is not None and other.shape == value.shape and other.dtype == value.dtype:
            replaced[name] = other
    return replaced


# Operators on tensors of quantized elements, which Inductor has no types for.
_OF_QUANTIZED = frozenset(
    (
        torch.ops.aten.dequantize,
        torch.ops.aten.quantize_per_channel,
        torch.ops.aten.quantize_per_tensor,
        torch.ops.aten.quantize_per_tensor_dynamic,
    )
)


def _refuse_unknown_operators(programs: Mapping[str, ExportedProgram]) -> None:
    for name, program in programs.items():
        for node in (node for graph in changed_graphs(program) for node in graph.nodes):
            operator = called_operator(node)
            if operator is None:
                continue
            is_known = operator.namespace in ("aten", "prims") or operator in _OPERATORS
            if not is_known or operator.overloadpacket in _OF_QUANTIZED:
                raise UnsupportedError(_no_operator(name, [str(operator)], node))


@dataclass
class _Weights:
    """Tensors of all methods; those of equal type, shape and bytes are stored once."""

    stored: list[torch.Tensor] = field(default_factory=list)
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(self, weight: torch.Tensor) -> dict[str, object]:
        """Where the weight lies, as the runtime reads it."""
        weight = weight.detach().contiguous()
        digest = hashlib.sha256(_bytes_of(weight)).digest()
        key = (digest, weight.dtype, *weight.shape)
        if key not in self._places:
            self._places[key] = len(self.stored)
            self.stored.append(weight)
        return {
            "file": f"weight_{self._places[key]}",
            "dtype": dtype_name(weight.dtype),
            "shape": list(weight.shape),
        }


def _bytes_of(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _flat(program: ExportedProgram, places: Mapping[str, int]) -> GraphModule:
    """A method as a function of its states, in the manifest's order, and its inputs.

    It copies new states into the old, and returns new values of inputs, then outputs.
    """
    signature = program.graph_signature
    old = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    graph, attributes = Graph(), _submodules(program.graph_module)
    values: dict[Node, Any] = {}
    states = sorted(_touched(program, places), key=lambda buffer: places[buffer])
    buffers = {buffer: old[name] for name, buffer in signature.inputs_to_buffers.items()}
    for buffer in states:
        values[buffers[buffer]] = _placeholder(graph, buffers[buffer])
    for spec in signature.input_specs:
        node = old[spec.arg.name]
        if spec.kind == InputKind.USER_INPUT:
            is_tensor = isinstance(spec.arg, TensorArgument)
            values[node] = _placeholder(graph, node) if is_tensor else node.meta["val"]
        elif node not in values and node.users:
            attributes[node.name] = stored(program, str(spec.target)).detach()
            values[node] = graph.get_attr(node.name)
            values[node].meta = dict(node.meta)
    _copy_body(program.graph, graph, values)
    outputs = []
    (results,) = (node.args[0] for node in program.graph.find_nodes(op="output"))
    assert isinstance(results, tuple)
    for output, result in zip(signature.output_specs, results, strict=True):
        value = values.get(result, result) if isinstance(result, Node) else result
        if output.kind == OutputKind.BUFFER_MUTATION:
            into = values[buffers[str(output.target)]]
            graph.call_function(torch.ops.aten.copy_.default, (into, value))
        else:
            outputs.append(value)
    graph.output(tuple(outputs))
    return GraphModule(attributes, graph)


def _placeholder(graph: Graph, node: Node) -> Node:
    made = graph.placeholder(node.name)
    made.meta = dict(node.meta)
    return made


def _copy_body(source: Graph, graph: Graph, values: dict[Node, Any]) -> None:
    for node in source.nodes:
        if node.op not in ("placeholder", "output"):
            values[node] = graph.node_copy(node, lambda argument: values[argument])


def _copy_to_rows(program: ExportedProgram) -> None:
    """Gives arguments the one order of elements that our operators take."""
    for graph in changed_graphs(program):
        for node in [node for node in graph.nodes if called_operator(node) in _OPERATORS]:
            for argument in node.all_input_nodes:
                example = argument.meta.get("val")
                if isinstance(example, torch.Tensor) and not lies_row_by_row(example):
                    with graph.inserting_before(node):
                        rows = call(
                            graph,
                            torch.ops.aten.clone.default,
                            argument,
                            memory_format=torch.contiguous_format,
                        )
                    node.replace_input_with(argument, rows)


def _submodules(module: GraphModule) -> dict[str, Any]:
    """What the graph of a method calls by name: the branches of a ``cond``."""
    return {
        str(node.target): getattr(module, str(node.target))
        for node in module.graph.find_nodes(op="get_attr")
    }


def _touched(program: ExportedProgram, places: Mapping[str, int]) -> set[str]:
    """The states that a method reads or writes."""
    written = program.graph_signature.buffers_to_mutate.values()
    return (read_buffers(program) | set(written)) & places.keys()


def _compiled(
    name: str, method: GraphModule, processor: Processor, profile: bool
) -> tuple[bytes, Mapping[str, torch.Tensor]]:
    """The library, and the constants that it wants, by name."""
    examples = tuple(node.meta["val"] for node in method.graph.find_nodes(op="placeholder"))
    with tempfile.TemporaryDirectory(prefix="polystate-") as folder:
        options = {
            **_OPTIONS,
            **_for(processor),
            "cpp.enable_kernel_profile": profile,
            "aot_inductor.output_path": folder,
        }
        try:
            with (
                inductor_fixes.applied(_OPERATORS_OF_PYTORCH),
                inductor_interface.compiled_once(processor),
                without_new_guards(),
            ):
                files = torch._inductor.aot_compile(method, examples, options=options)
        except Exception as error:  # the compiler raises many kinds
            raise ExportError(
                f"method '{name}': AOTInductor does not compile it: {explain(error)}"
            ) from error
        assert isinstance(files, list)
        _refuse_extern_nodes(name, method, [f for f in files if isinstance(f, str)])
        (library,) = (f for f in files if isinstance(f, str) and f.endswith(".so"))
        weights = [dict(f) for f in files if not isinstance(f, str)]
        constants = {key: value[0] for found in weights for key, value in found.items()}
        return Path(library).read_bytes(), constants


def _for(processor: Processor) -> dict[str, Any]:
    if processor.march == "native":
        return {}
    return {"cpp.march": processor.march, "cpp.simdlen": processor.vector_bits}


def _refuse_extern_nodes(name: str, method: GraphModule, files: Sequence[str]) -> None:
    """Refuses a library that calls operators by what AOTInductor calls a proxy: there is none."""
    for file in files:
        if file.endswith(".json") and not file.endswith("_metadata.json"):
            nodes = json.loads(Path(file).read_text()).get("nodes", [])
            called = sorted({str(node["node"]["target"]) for node in nodes})
            if called:
                raise UnsupportedError(_no_operator(name, called, *method.graph.nodes))


def _no_operator(method: str, operators: Sequence[str], *nodes: Node) -> str:
    """Says which operators are missing, where they are called, and which backends have them."""
    calls = [node for node in nodes if _is_named(node, operators)]
    targets = {node.target for node in calls}
    advice = "compute it in the caller, and pass the result as an input"
    if targets and all(executorch_has(target) for target in targets):
        advice = "backends 'xnnpack' and 'portable' have it"
    line = line_of_nodes(calls)
    return (
        f"method '{method}' calls {', '.join(map(repr, operators))}, which the AOTInductor engine "
        f"does not have" + (f"\n  at {line}" if line else "") + f"\n  rewrite: {advice}"
    )


def _is_named(node: Node, operators: Sequence[str]) -> bool:
    return any(
        str(node.target) in (name, name.removeprefix("torch.ops.").replace("::", "."))
        for name in operators
    )


def _updates(program: ExportedProgram, places: Mapping[str, int], copied: Set[str]) -> Updates:
    """How a method updates its states; `copied` are those that it changes in copies."""
    written = sorted(program.graph_signature.buffers_to_mutate.values(), key=lambda n: places[n])
    reasons = dict.fromkeys(copied, "a check comes later: AOTInductor changes a copy")
    usual = "AOTInductor computes it where it lies, if nothing reads the old value later"
    return Updates(
        [Update(name, "written_back", reasons.get(name, usual)) for name in written],
        atomic=not written,
        checks_first=True,
    )
