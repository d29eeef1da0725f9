"""Methods traced for tests, and what callers of their contracts see."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx.experimental._config as shape_config
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from polystate.artifact.manifest import Input
from polystate.export.contract.contract import MethodContract, declared_sizes, method_contract
from polystate.export.contract.trial import Trial
from polystate.export.graph.expressions import evaluate, holds
from polystate.export.graph.sources import recorded_sources
from polystate.export.method import as_forward
from polystate.export.tracing import composite_operators
from polystate.export.tracing.assertions import recorded_assertions, secure_assertions
from polystate.export.tracing.dimensions import Dimensions
from polystate.export.tracing.exclusive_or import written_exclusive_or

Forward = Callable[..., Any]


class Refused(Exception):  # noqa: N818 (reads as a sentence where it is expected)
    """A caller broke the contract: nothing ran."""


@dataclass
class Program:
    """A method with its contract; calls start from the initial state.

    `untouched` says whether the last call that ran left the state as it was.
    """

    model: torch.nn.Module
    forward: Forward
    exported: ExportedProgram
    functional: ExportedProgram
    contract: MethodContract
    untouched: bool = True

    def input(self, name: str) -> Input:
        return next(i for i in self.contract.inputs if i.name == name)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, torch.Tensor]]:
        """Check the contract, run the program and give its results and the state after it."""
        leaves = pytree.tree_leaves((args, kwargs))
        check(self.contract, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
        module = self.functional.module(check_guards=False)
        initial = {name: buffer.clone() for name, buffer in module.named_buffers()}
        try:
            outputs = module(*args, **kwargs)
        finally:
            after = {name: buffer.clone() for name, buffer in module.named_buffers()}
            for name, buffer in module.named_buffers():
                buffer.copy_(initial[name])
            self.untouched = all(torch.equal(after[name], initial[name]) for name in after)
        return outputs, after


def trace(
    forward: Forward,
    args: Sequence[Any],
    dynamic_shapes: Any = None,
    *,
    model: torch.nn.Module | None = None,
    oblivious: bool = True,
    tried: bool = True,
    **kwargs: Any,
) -> Program:
    """Trace ``forward(self, ...)`` over a module, as the exporter does."""
    model = model or torch.nn.Module()
    method = types.MethodType(forward, model)
    declared = declared_sizes(Dimensions.of("method", method, tuple(args), kwargs, dynamic_shapes))
    with shape_config.patch(backed_size_oblivious=oblivious), recorded_sources():
        with (
            as_forward(model, method) as module,
            recorded_assertions(),
            written_exclusive_or(),
        ):
            exported = torch.export.export(
                module, tuple(args), kwargs, dynamic_shapes=dynamic_shapes, strict=False
            )
        secure_assertions(exported)
        with composite_operators.found_once():
            functional = exported.run_decompositions({})
    trial = Trial(exported, tuple(args), kwargs, _agreement(model, method, functional))
    contract = method_contract("method", functional, declared, trial=trial if tried else None)
    functional.validate()
    return Program(model, forward, exported, functional, contract)


def _agreement(model: torch.nn.Module, method: Forward, program: ExportedProgram) -> Any:
    """Compare a program's results with the method's, from the model's state; both are kept."""
    copied = copy.deepcopy(program)

    def is_right(args: Any, kwargs: Any) -> bool | None:
        initial = copy.deepcopy(model.state_dict())
        try:
            expected = pytree.tree_leaves(method(*args, **kwargs))
        except (RuntimeError, IndexError):
            return None
        finally:
            model.load_state_dict(initial)
        found = pytree.tree_leaves(copied.module(check_guards=False)(*args, **kwargs))
        return all(
            a.shape == b.shape and torch.allclose(a, b)
            for a, b in zip(expected, found, strict=True)
            if isinstance(a, torch.Tensor)
        )

    return is_right


def check(contract: MethodContract, tensors: Sequence[torch.Tensor]) -> None:
    """Check inputs as docs/artifact.md says, in Python's words."""
    require(len(tensors) == len(contract.inputs), "number of inputs")
    for declared, tensor in zip(contract.inputs, tensors, strict=True):
        require(str(tensor.dtype) == f"torch.{declared.dtype}", "dtype")
        require(tensor.dim() == len(declared.shape), "rank")
    sizes = {}
    for symbol in contract.symbols:
        size = tensors[symbol.input].shape[symbol.dimension]
        value, rest = divmod(size - symbol.offset, symbol.scale)
        require(rest == 0 and symbol.min <= value <= symbol.max, symbol.name)
        sizes[symbol.name] = value
    for declared, tensor in zip(contract.inputs, tensors, strict=True):
        for expression, size in zip(declared.shape, tensor.shape, strict=True):
            require(holds(["==", expression, int(size)], sizes), declared.name)
    for guard in contract.guards:
        require(holds(guard.condition, sizes), guard.text)
    for declared, tensor in zip(contract.inputs, tensors, strict=True):
        for limits in declared.values:
            low, high = (
                None if bound is None else evaluate(bound, sizes)
                for bound in (limits.min, limits.max)
            )
            require(low is None or bool((tensor >= low).all()), limits.reason)
            require(high is None or bool((tensor <= high).all()), limits.reason)


def require(condition: bool, what: str) -> None:
    if not condition:
        raise Refused(what)


def line_of(function: Forward, offset: int) -> str:
    """The source that messages name for a line of a function."""
    line = inspect.getsourcelines(function)[1] + offset
    return f"{inspect.getsourcefile(function).rpartition('/')[2]}:{line} in {function.__name__}"
