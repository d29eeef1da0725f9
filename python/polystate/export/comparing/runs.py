"""Runs each stage of an export and keeps what it computes on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.fx import Interpreter, Node
from torch.nn.modules.module import register_module_forward_hook
from torch.utils import _pytree as pytree

from polystate.export.comparing.values import ModuleCall
from polystate.export.graph.signature import stored
from polystate.export.tracing.eager import EagerModule, Outcome
from polystate.export.verification.outcomes import tensors


@dataclass(frozen=True)
class LayerCall:
    """A call of a module while its model ran eagerly: its arguments and its result."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


@dataclass
class EagerRun:
    """What the model did in a call, and what each module did in it."""

    outcome: Outcome
    layers: dict[ModuleCall, LayerCall] = field(default_factory=dict)

    def result_of(self, calls: tuple[ModuleCall, ...], like: torch.Tensor) -> torch.Tensor | None:
        """What the calls of modules returned, if that is one tensor of a form."""
        for call in calls:
            found = self.layers[call].result if call in self.layers else None
            if isinstance(found, torch.Tensor) and _form(found) == _form(like):
                return found
        return None


def run_eagerly(
    eager: EagerModule, function: Callable[..., Any], args: Any, kwargs: Any
) -> EagerRun:
    """Calls a method from the values that the buffers have now; what it changes stays."""
    paths = {id(module): name for name, module in eager.model.named_modules()}
    layers: dict[ModuleCall, LayerCall] = {}
    counts: dict[str, int] = {}

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        path = paths.get(id(module))
        if path:
            number = counts.get(path, 0)
            counts[path] = number + 1
            layers[path, number] = LayerCall(module, *map(_kept, (args, kwargs, result)))

    def run(*args: Any, **kwargs: Any) -> Any:
        handle = register_module_forward_hook(keep, with_kwargs=True)
        try:
            return function(*args, **kwargs)
        finally:
            handle.remove()

    return EagerRun(eager.call(run, args, kwargs), layers)


@dataclass(frozen=True)
class GraphRun:
    """What a functional program computes: its results, its new state, and the value of each node.

    Attributes
    ----------
    results
        Those of kind ``USER_OUTPUT`` that are tensors, in order.
    """

    results: list[torch.Tensor]
    state: dict[str, torch.Tensor]
    values: dict[str, torch.Tensor]


def run_graph(
    program: ExportedProgram, args: Any, kwargs: Any, state: Mapping[str, torch.Tensor]
) -> GraphRun:
    """Runs a functional program by PyTorch's operators.

    Parameters
    ----------
    state
        The values of buffers; others have those that the program holds.
    """
    recorder = _Recorder(program.graph_module)
    with torch.no_grad():
        torch.default_generator.manual_seed(0)
        results = recorder.run(*_inputs(program, args, kwargs, state))
    returned: list[torch.Tensor] = []
    changed: dict[str, torch.Tensor] = {}
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind == OutputKind.BUFFER_MUTATION:
            changed[str(spec.target)] = result
        elif spec.kind == OutputKind.USER_OUTPUT and isinstance(result, torch.Tensor):
            returned.append(result)
    return GraphRun(returned, changed, recorder.values)


class _Recorder(Interpreter):
    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[str, torch.Tensor] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.op == "call_function" and isinstance(result, torch.Tensor):
            self.values[n.name] = result.detach()
        return result


def _inputs(
    program: ExportedProgram, args: Any, kwargs: Any, state: Mapping[str, torch.Tensor]
) -> Iterator[Any]:
    given = iter(tensors((args, kwargs)))
    for spec in program.graph_signature.input_specs:
        if spec.kind != InputKind.USER_INPUT:
            name = str(spec.target)
            yield state[name].clone() if name in state else stored(program, name)
        elif isinstance(spec.arg, TensorArgument):
            yield next(given).clone()
        else:
            yield spec.arg.value


def _kept(tree: Any) -> Any:
    """A result with its tensors copied, as later operators may change them in place."""
    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), tree)


def _form(tensor: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return tensor.shape, tensor.dtype
