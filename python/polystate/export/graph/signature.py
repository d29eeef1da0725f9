"""The arguments and results of an exported method, flattened, with the names that users see."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule
from torch.utils import _pytree as pytree

from polystate.artifact.names import is_dotted_name
from polystate.errors import UnsupportedError


@dataclass(frozen=True)
class Argument:
    """One flattened argument of a method.

    Attributes
    ----------
    name
        ``x``, or for nested ones ``xs.0`` and ``config.mask``.
    position
        Its index among all flattened arguments, those that are not tensors included.
    node
        Its placeholder.
    value
        The traced tensor, or the constant that took its place.
    """

    name: str
    position: int
    node: torch.fx.Node
    value: Any

    @property
    def is_constant(self) -> bool:
        """Whether the trace holds the argument's value, so that callers do not pass it."""
        return not isinstance(self.value, torch.Tensor)

    @property
    def tensor(self) -> torch.Tensor:
        """The traced tensor; only for arguments that are not constants."""
        assert isinstance(self.value, torch.Tensor)
        return self.value


def arguments(exported: ExportedProgram) -> list[Argument]:
    """List the flattened arguments in the order in which the program takes them.

    Raises
    ------
    UnsupportedError
        For an integer argument that was declared dynamic.
    """
    placeholders = [node for node in exported.graph.nodes if node.op == "placeholder"]
    specs = exported.graph_signature.input_specs
    taken = [
        (spec, node)
        for spec, node in zip(specs, placeholders, strict=True)
        if spec.kind == InputKind.USER_INPUT
    ]
    found = []
    for position, (name, (spec, node)) in enumerate(
        zip(_argument_names(exported), taken, strict=True)
    ):
        if isinstance(spec.arg, TensorArgument):
            value = node.meta["val"]
        elif isinstance(spec.arg, ConstantArgument):
            value = spec.arg.value
        else:
            raise UnsupportedError(
                f"the argument '{name}' is a dynamic number; pass it as a tensor, "
                f"torch.tensor({name}), and read it with .item()"
            )
        found.append(Argument(name, position, node, value))
    return found


def tensor_arguments(exported: ExportedProgram) -> list[Argument]:
    """List the arguments that callers pass; their order is that of the manifest's inputs."""
    return [argument for argument in arguments(exported) if not argument.is_constant]


def constant_arguments(exported: ExportedProgram) -> list[Argument]:
    """List the arguments whose values the trace holds: numbers, strings, None."""
    return [argument for argument in arguments(exported) if argument.is_constant]


@dataclass(frozen=True)
class Result:
    """One flattened result of a method.

    Attributes
    ----------
    name
        ``0``, or for nested ones ``1.logits``.
    position
        Its index among all flattened results, those that are not tensors included.
    program_output
        Its index among the outputs of the lowered program: mutated arguments come first there, and
        results that are None keep their place.
    node
        The node that computes it.
    """

    name: str
    position: int
    program_output: int
    node: torch.fx.Node


def results(exported: ExportedProgram) -> list[Result]:
    """List the tensors that the method returns; None is left out.

    Raises
    ------
    UnsupportedError
        For a result that is neither a tensor nor a number.
    """
    outputs = _output_nodes(exported)
    names = enumerate(_result_names(exported))
    found: list[Result] = []
    for index, (spec, node) in enumerate(_program_outputs(exported, outputs)):
        if spec.kind != OutputKind.USER_OUTPUT:
            continue
        position, name = next(names)
        if isinstance(spec.arg, TensorArgument):
            found.append(Result(name, position, index, node))
        elif not (isinstance(spec.arg, ConstantArgument) and spec.arg.value is None):
            raise UnsupportedError(_not_a_tensor(name, spec))
    return found


def mutated_arguments(exported: ExportedProgram) -> dict[str, int]:
    """Map each argument that the method writes to, by placeholder, to its program output."""
    return {
        str(spec.target): index
        for index, (spec, _) in enumerate(_program_outputs(exported, _output_nodes(exported)))
        if spec.kind == OutputKind.USER_INPUT_MUTATION
    }


def changed_graphs(program: ExportedProgram) -> Iterator[Graph]:
    """The graph of a program, then those of its branches, for each to be changed in its turn."""
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            yield module.graph
            module.recompile()


def rename_outputs(exported: ExportedProgram) -> None:
    """Make a program's signature name the nodes that a pass put in the place of its outputs."""
    specs = exported.graph_signature.output_specs
    for spec, node in zip(specs, _output_nodes(exported), strict=True):
        if isinstance(spec.arg, TensorArgument):
            spec.arg.name = node.name


def _output_nodes(exported: ExportedProgram) -> Sequence[Any]:
    (outputs,) = exported.graph.output_node().args
    assert isinstance(outputs, Sequence)
    return outputs


def _program_outputs(
    exported: ExportedProgram, nodes: Sequence[Any]
) -> Iterator[tuple[OutputSpec, Any]]:
    """Give the outputs that remain in a lowered program: all but the new values of buffers.

    ExecuTorch writes mutated arguments and buffers back at the method's end, then returns what it
    wrote to arguments, in this order, before what the method returns.
    """
    for spec, node in zip(exported.graph_signature.output_specs, nodes, strict=True):
        if spec.kind in (OutputKind.USER_INPUT_MUTATION, OutputKind.USER_OUTPUT):
            yield spec, node


def _not_a_tensor(name: str, spec: OutputSpec) -> str:
    kind = type(getattr(spec.arg, "value", None)).__name__
    return (
        f"result '{name}' is no tensor but a Python {kind}; leave it out of the results: what is "
        f"fixed can be one of the export's constants"
    )


def _argument_names(exported: ExportedProgram) -> list[str]:
    signature = exported.module_call_graph[0].signature
    assert signature is not None  # of the root module there always is one
    positional = signature.forward_arg_names or []
    names = []
    for _, key, *rest in _paths(signature.in_spec):
        first = _key_name(key)
        if isinstance(key, pytree.SequenceKey) and key.idx < len(positional):
            first = positional[key.idx]
        names.append(".".join([first, *map(_key_name, rest)]))
    return names


def _result_names(exported: ExportedProgram) -> Iterator[str]:
    signature = exported.module_call_graph[0].signature
    assert signature is not None
    for path in _paths(signature.out_spec):
        yield ".".join(map(_key_name, path)) or "0"


def _paths(spec: pytree.TreeSpec) -> list[pytree.KeyPath]:
    tree = pytree.tree_unflatten([0] * spec.num_leaves, spec)
    return [path for path, _ in pytree.tree_flatten_with_path(tree)[0]]


def _key_name(key: Any) -> str:
    """Name one step into a nested value.

    Raises
    ------
    UnsupportedError
        For a key of a dictionary that cannot be a part of a name.
    """
    if isinstance(key, pytree.SequenceKey):
        return str(key.idx)
    if not isinstance(key, pytree.MappingKey):
        return str(key.name)
    name = str(key.key)
    if "." in name or not is_dotted_name(name):
        raise UnsupportedError(
            f"the key {key.key!r} of a dictionary cannot name an input or a result: use letters, "
            f"digits, '_' and '-'"
        )
    return name


def stored(exported: ExportedProgram, name: str) -> Any:
    """What a program holds under a name: a parameter, a buffer or a constant."""
    # Constants are attributes of the module, and buffers that are not persistent.
    held = exported.state_dict if name in exported.state_dict else exported.constants
    return held[name]


def added_constant(
    exported: ExportedProgram, name: str, fake: Any, value: torch.Tensor
) -> torch.fx.Node:
    """Give a program one more constant, after its others.

    Parameters
    ----------
    name
        To which a number is added.
    fake
        What the program's trace says of the value.
    """
    graph, specs = exported.graph, exported.graph_signature.input_specs
    kinds = [spec.kind == InputKind.USER_INPUT for spec in specs]
    place = kinds.index(True) if True in kinds else len(specs)
    after = [node for node in graph.nodes if node.op == "placeholder"][place:]
    first = after[0] if after else next(n for n in graph.nodes if n.op != "placeholder")
    taken = {str(spec.target).partition(".")[0] for spec in specs}  # by tensors and submodules
    names = (f"{name}_{number}" for number in itertools.count())
    with graph.inserting_before(first):
        node: torch.fx.Node = graph.placeholder(next(each for each in names if each not in taken))
    node.target, node.meta["val"] = node.name, fake
    arg = TensorArgument(node.name)
    specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, arg, node.name))
    exported.constants[node.name] = value
    return node


def read_buffers(exported: ExportedProgram) -> set[str]:
    """The buffers whose old values a functional program uses."""
    names = exported.graph_signature.inputs_to_buffers
    return {
        names[node.name]
        for node in exported.graph.find_nodes(op="placeholder")
        if node.name in names and node.users
    }
