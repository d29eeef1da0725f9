"""The graph of a lowered method as plain data: what runs, from which line, where results lie."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from executorch.exir import memory
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, GraphModule, Node

from polystate.export.diagnosis.lines import lines_of_node
from polystate.export.graph.operands import given_arguments

# What becomes of a part of a graph: it runs in a delegate; in an operator of polystate's own, which
# does what several of PyTorch's do; in a kernel; it copies, or only names memory anew; it checks.
Kind = Literal[
    "input", "state", "weight", "delegated", "fused", "kernel", "copy", "view", "check", "output"
]

_COPIES = ("copy", "clone", "_to_copy", "_to_dim_order_copy", "_clone_dim_order", "copy_after")
_CHECKS = ("check", "_assert", "sym_constrain")

# Memory of a method, by ExecuTorch's index of planned buffers.
ACTIVATIONS = 1
ARENAS = {ACTIVATIONS: "activations", 2: "state"}


@dataclass(frozen=True)
class Place:
    """Where a planned tensor lies: in an arena, from a step up to another, that one included."""

    arena: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Part:
    """A node of a graph.

    Attributes
    ----------
    operator
        What is called; of an input the name, of a delegate its backend.
    lines
        The user's lines, ``path:number: text``, of which it is a part; several of a delegate.
    inner
        What a delegate runs, in its order.
    operands
        The indices of the parts whose results it takes.
    changes
        The name of the state that it writes, where it does.
    shape
        Of its result, with the type: ``float32[4, 8]``; empty where it has none.
    places
        Of its results, where memory is planned for them.
    """

    name: str
    operator: str
    kind: Kind
    lines: tuple[str, ...]
    inner: tuple[str, ...]
    operands: tuple[int, ...]
    changes: str
    shape: str
    places: tuple[Place, ...]


_wanted = contextvars.ContextVar("whether parts are kept", default=False)


@contextlib.contextmanager
def parts_kept() -> Iterator[None]:
    """Programs that are lowered within the block have their parts (`Program.parts`)."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def parts_where_kept(
    methods: Iterable[str], program: Callable[[str], ExportedProgram]
) -> dict[str, tuple[Part, ...]]:
    """The parts of each method's lowered program; nothing where nobody wants them."""
    return {name: parts_of(program(name)) for name in methods} if _wanted.get() else {}


def parts_of(program: ExportedProgram) -> tuple[Part, ...]:
    """The parts of a method's graph in the order in which they run, inputs first."""
    graph = program.graph
    numbers: dict[Node, int] = {}
    parts: list[Part] = []
    named = _inputs(program)
    written = _written_states(program)
    for node in graph.nodes:
        operands = [numbers[each] for each in node.all_input_nodes if each in numbers]
        if node.target is operator.getitem and operands:
            number = numbers[node] = operands[0]
            places = parts[number].places + tuple(_places(node))
            parts[number] = dataclasses.replace(parts[number], places=places)
        elif node.op != "get_attr" and node.target is not memory.alloc:
            numbers[node] = len(parts)
            parts.append(_part(node, named, written, tuple(dict.fromkeys(operands))))
    return tuple(parts)


def _inputs(program: ExportedProgram) -> dict[str, tuple[Kind, str]]:
    """The kind and the user's name of each placeholder."""
    changed = set(program.graph_signature.buffers_to_mutate.values())
    named: dict[str, tuple[Kind, str]] = {}
    for spec in program.graph_signature.input_specs:
        kind: Kind = "weight"
        if spec.kind is InputKind.USER_INPUT:
            kind = "input"
        elif spec.kind is InputKind.BUFFER and spec.target in changed:
            kind = "state"
        named[str(getattr(spec.arg, "name", ""))] = kind, spec.target or ""
    return named


def _written_states(program: ExportedProgram) -> dict[str, str]:
    """The states by the names of the nodes whose results are their new values."""
    return {
        str(getattr(spec.arg, "name", "")): str(spec.target)
        for spec in program.graph_signature.output_specs
        if spec.kind is OutputKind.BUFFER_MUTATION
    }


def _part(
    node: Node,
    named: Mapping[str, tuple[Kind, str]],
    written: Mapping[str, str],
    operands: tuple[int, ...],
) -> Part:
    kind, called, inner = _kind(node, named)
    lines = list(lines_of_node(node))
    inner_nodes = list(_inner_nodes(node))
    for each in inner_nodes:
        lines += lines_of_node(each)
    return Part(
        name=node.name,
        operator=called,
        kind=kind,
        lines=tuple(dict.fromkeys(lines)),
        inner=tuple(_short(str(each.target)) for each in inner_nodes) or inner,
        operands=operands,
        changes=written.get(node.name) or _changed_state(node, named),
        shape=_shape(node),
        places=tuple(_places(node)),
    )


def _changed_state(node: Node, named: Mapping[str, tuple[Kind, str]]) -> str:
    """The state that an operator writes into; empty: none."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return ""
    given = given_arguments(node.target, node.args, node.kwargs)
    for argument in node.target._schema.arguments:
        value = given.get(argument.name)
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        if is_written and isinstance(value, Node):
            kind, name = named.get(value.name, ("input", ""))
            if kind == "state":
                return name
    return ""


def _kind(node: Node, named: Mapping[str, tuple[Kind, str]]) -> tuple[Kind, str, tuple[str, ...]]:
    if node.op == "placeholder":
        kind, target = named.get(node.name, ("input", ""))
        return kind, target or node.name, ()
    if node.op == "output":
        return "output", "results", ()
    if node.target is executorch_call_delegate:
        module = _delegate(node)
        return "delegated", module.backend_id if module is not None else "delegate", ()
    name = _short(str(node.target))
    bare = name.rpartition("::")[2].partition(".")[0]
    if bare.startswith(_CHECKS):
        return "check", name, ()
    if node.target is memory.view or bare in ("view", "view_copy", "expand_copy", "slice_copy"):
        return "view", name, ()
    if bare.rstrip("_") in _COPIES:
        return "copy", name, ()
    return ("fused" if "polystate::" in name else "kernel"), name, ()


def _short(target: str) -> str:
    """An operator's name as people write it: ``aten::add``."""
    text = target.removeprefix("torch.ops.").removeprefix("<EdgeOpOverload: ").partition(">")[0]
    words = text.removeprefix("executorch_exir_dialects_edge__ops_").split(".")
    return "::".join(words[:2]) if len(words) > 1 else text


def _delegate(node: Node) -> LoweredBackendModule | None:
    first = node.args[0] if node.args else None
    owner = node.graph.owning_module
    if isinstance(first, Node) and first.op == "get_attr" and isinstance(owner, GraphModule):
        module = getattr(owner, str(first.target), None)
        return module if isinstance(module, LoweredBackendModule) else None
    return None


def _inner_nodes(node: Node) -> Iterator[Node]:
    """The nodes that a delegate runs."""
    module = _delegate(node) if node.target is executorch_call_delegate else None
    if module is not None:
        inner: Graph = module.original_module.graph
        yield from (each for each in inner.nodes if each.op == "call_function")


def _shape(node: Node) -> str:
    value = node.meta.get("val")
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, torch.Tensor):
        return ""
    sizes = ", ".join(str(size) for size in value.shape)
    return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"


def _places(node: Node) -> Iterator[Place]:
    specs: Any = node.meta.get("spec")
    for spec in specs if isinstance(specs, tuple | list) else (specs,):
        if getattr(spec, "mem_offset", None) is not None and spec.lifetime[0] is not None:
            arena = ARENAS.get(spec.mem_id, str(spec.mem_id))
            first, last = map(int, spec.lifetime)
            yield Place(arena, int(spec.mem_offset), int(spec.allocated_memory), first, last)
