"""Which intermediate results of a method are compared: those that go from one layer to the next."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram, ModuleCallEntry
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from polystate.export.diagnosis.lines import line_of_nodes

# A call of a module: its path, and how often it was called before.
ModuleCall = tuple[str, int]


@dataclass(frozen=True)
class Value:
    """A result of a node that leaves its layer.

    Attributes
    ----------
    node
        Its name in the functional graph.
    layer
        The module whose call computes it; empty: the exported method itself.
    kind
        The name of the module's class.
    line
        The user's line; empty where it is not known.
    returned_by
        The calls of modules that return it: nothing else of them is used elsewhere.
    """

    node: str
    layer: str
    kind: str
    line: str
    returned_by: tuple[ModuleCall, ...]


def values_between_layers(program: ExportedProgram) -> list[Value]:
    """The values that leave a layer, in the order in which they are computed.

    A layer is what one call of a module, or one line of the user's, computes by itself. Left out
    is what follows from weights alone, and what is returned as it is: results are compared anyway.
    """
    results = _results(program)
    computed = _computed_from_inputs(program)
    groups = {node: _group(node) for node in program.graph.nodes}
    returned_by = _returned_by(computed, results)
    found = [
        node
        for node in computed
        if node not in results
        and not _is_check(node)
        and any(groups[user] != groups[node] for user in node.users)
    ]
    return [value_of(node, tuple(returned_by.get(node, ()))) for node in found]


def value_of(node: Node, returned_by: tuple[ModuleCall, ...] = ()) -> Value:
    """What is known of a node."""
    return Value(node.name, *_layer(node), line_of_nodes([node]), returned_by)


def with_results(program: ExportedProgram, nodes: Sequence[str]) -> ExportedProgram:
    """A copy of a functional program that returns the values of some nodes, too, after its own."""
    module = _copied(program.graph_module)
    signature = copy.deepcopy(program.graph_signature)
    by_name = {node.name: node for node in module.graph.nodes}
    output = module.graph.output_node()
    (results,) = output.args
    assert isinstance(results, Sequence)
    output.args = ((*results, *(by_name[name] for name in nodes)),)
    signature.output_specs += [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name), None) for name in nodes
    ]
    module.recompile()
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=program.state_dict,
        range_constraints=dict(program.range_constraints),
        module_call_graph=_returning_more(program, len(nodes)),
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=[program.verifier],
    )


def _returning_more(program: ExportedProgram, count: int) -> list[ModuleCallEntry]:
    """What is known of the calls in a program that returns so many values more."""
    root, *others = program.module_call_graph
    if count == 0:
        return [root, *others]
    signature = root.signature
    assert signature is not None  # of the root module there always is one
    results = pytree.tree_unflatten([0] * signature.out_spec.num_leaves, signature.out_spec)
    more = dataclasses.replace(signature, out_spec=pytree.tree_structure((results, (0,) * count)))
    return [dataclasses.replace(root, signature=more), *others]


def _copied(module: GraphModule) -> GraphModule:
    """A graph with its branches, which passes may change."""
    copied = GraphModule(module, copy.deepcopy(module.graph))
    copied.meta = dict(module.meta)
    for name, child in module.named_children():
        if isinstance(child, GraphModule):
            setattr(copied, name, _copied(child))
    return copied


def _results(program: ExportedProgram) -> dict[Node, bool]:
    """The nodes that the graph returns: whether a caller gets them, or only a buffer."""
    (nodes,) = program.graph.output_node().args
    assert isinstance(nodes, Sequence)
    found: dict[Node, bool] = {}
    for spec, node in zip(program.graph_signature.output_specs, nodes, strict=True):
        if isinstance(node, Node):
            is_given = spec.kind == OutputKind.USER_OUTPUT
            found[node] = found.get(node, False) or is_given
    return found


def _computed_from_inputs(program: ExportedProgram) -> list[Node]:
    """The tensors that are computed from inputs or buffers, in order."""
    specs = program.graph_signature.input_specs
    given = {s.arg.name for s in specs if s.kind in (InputKind.USER_INPUT, InputKind.BUFFER)}
    follows: set[Node] = set()
    for node in program.graph.nodes:
        if node.op == "placeholder":
            if node.name in given:
                follows.add(node)
        elif node.op == "call_function" and any(n in follows for n in node.all_input_nodes):
            follows.add(node)
    return [
        node
        for node in program.graph.nodes
        if node in follows
        and node.op == "call_function"
        and isinstance(node.meta.get("val"), torch.Tensor)
    ]


def _is_check(node: Node) -> bool:
    return str(node.target).startswith("polystate.check")


def _group(node: Node) -> tuple[object, str]:
    """The innermost call of a module and the user's line: what one layer computes."""
    calls = node.meta.get("nn_module_stack") or {}
    return next(reversed(calls), None), line_of_nodes([node])


def _layer(node: Node) -> tuple[str, str]:
    calls = node.meta.get("nn_module_stack") or {}
    if not calls:
        return "", ""
    path, kind = next(reversed(calls.values()))
    name = kind if isinstance(kind, str) else kind.__name__
    return str(path).partition("@")[0], name.rpartition(".")[2]


def _returned_by(
    nodes: Sequence[Node], results: Mapping[Node, bool]
) -> dict[Node, list[ModuleCall]]:
    """The calls of modules that a node alone leaves, so that it is what they return."""
    leaving: dict[str, list[Node]] = {}
    paths: dict[str, str] = {}
    for node in nodes:
        users = [user for user in node.users if user.op != "output" or results.get(node)]
        for call, (path, _) in (node.meta.get("nn_module_stack") or {}).items():
            if any(call not in (user.meta.get("nn_module_stack") or {}) for user in users):
                leaving.setdefault(call, []).append(node)
                paths[call] = str(path).partition("@")[0]
    found: dict[Node, list[ModuleCall]] = {}
    for call, last in leaving.items():
        if len(last) == 1:
            _, _, number = call.partition("@")
            of_node = found.setdefault(last[0], [])
            of_node.append((paths[call], int(number) if number.isdigit() else 0))
    return found
